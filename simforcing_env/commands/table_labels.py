"""What the metrics of the results files are called in tables for people."""

from types import MappingProxyType

LABELS = MappingProxyType(
    {
        "psnr_h1": "PSNR, frame 1",
        "psnr_h8": "PSNR, frame 8",
        "psnr_h16": "PSNR, frame 16",
        "psnr_h32": "PSNR, frame 32",
        "psnr_copy_h16": "PSNR of copying the last frame, frame 16",
        "psnr_velocity_h16": "PSNR of constant velocity, frame 16",
        "psnr_moving_gain_h16": "PSNR above copying on clips in which the block moves, frame 16",
        "ssim_h16": "SSIM, frame 16",
        "lpips_h16": "LPIPS, frame 16 (lower is better)",
        "agent_px_h16": "agent position error, frame 16 (512 px wide)",
        "block_px_h16": "block position error, frame 16 (512 px wide)",
        "block_deg_h16": "block angle error, frame 16",
        "reader_px": "position error of the pose reader itself, true frames",
        "reader_deg": "angle error of the pose reader itself, true frames",
        "shuffle_gap_db": "PSNR lost with shuffled actions",
        "zero_gap_db": "PSNR lost with zero actions",
        "best_shift": "action shift with the best PSNR (0 is right)",
        "pearson": "Pearson correlation of predicted and true coverage",
        "mae": "mean absolute error of coverage",
        "n": "starts",
        "fps_single": "frames/s, single environment",
        "fps_k1": "frames/s, batch of 1",
        "fps_k8": "frames/s, batch of 8",
        "fps_k50": "frames/s, batch of 50",
        "fps_k128": "frames/s, batch of 128",
        "branch50x16_s": "time for 50 branches of 16 frames",
        "teacher_fps": "frames/s of `gym_pusht` in the same run",
        "teacher_env_fps": "frames/s of the true simulator as our environment",
        "import_s": "time of `import simforcing_env`",
        "make_reset_s": "time of `gym.make` and the first reset, fresh process",
        "peak_mb": "peak memory",
        "brier_true": "Brier score of success, true frames",
        "brier_generated": "Brier score of success, generated frames",
        "auroc_true": "AUROC of success, true frames",
        "auroc_generated": "AUROC of success, generated frames",
    }
)
"""Metric name to what the reader of a table sees; a metric that is not here is shown by its name."""
