"""The committed results: they hold what they promise and are of the weights that are shipped."""

import pytest

from simforcing_env.registration import WEIGHTS
from world_model.checkpoint import open_folder
from world_model.results import read_results

NAMES = {
    "pusht-video": "psnr_h1 psnr_h8 psnr_h16 psnr_h32 psnr_copy_h16 psnr_velocity_h16 psnr_moving_gain_h16 ssim_h16 "
    "agent_px_h16 block_px_h16 block_deg_h16 reader_px reader_deg shuffle_gap_db zero_gap_db best_shift",
    "pusht-coverage": "pearson mae n",
    **dict.fromkeys(
        ("pusht-env-bench", "pusht-env-bench-float32"),
        "fps_single fps_k1 fps_k8 fps_k50 fps_k128 branch50x16_s teacher_fps import_s make_reset_s peak_mb",
    ),
    **{
        f"libero-{suite}-{kind}": names
        for suite in ("goal", "object")
        for kind, names in {
            "video": "psnr_h1 psnr_h8 psnr_h16 psnr_h32 psnr_copy_h16 ssim_h16 gripper_cm_h16 psnr_h16_success "
            "psnr_h16_failure",
            "openloop": "kappa agreement success_auroc_true success_auroc_generated",
            "env-bench": "teacher_fps teacher_fast_fps fps_k1 fps_k16 ratio_k1 ratio_k16 peak_mb",
        }.items()
    },
    "libero-experts": "success_libero_spatial success_libero_object success_libero_goal success_libero_10 "
    "success_libero_90",
    "libero-look": "draw_ratio_libero_goal draw_ratio_libero_object look_psnr_libero_goal look_psnr_libero_object",
    "reader-fuzz": "mutations unclear_errors hangs",
    "compare-pusht": "pearson spearman kendall mmrv bias kappa policies tasks episodes noise_floor",
    "compare-libero-goal": "pearson spearman kendall mmrv bias kappa policies tasks episodes noise_floor speedup",
    "ppi": "width_ratio coverage",
    "irasim-params": "S B L XL VDM LVDM",
    "irasim-study": " ".join(
        f"{m}_{n}" for m in ("frame_ada", "video_ada", "lvdm", "vdm") for n in ("psnr", "latent_l2")
    ),
    "irasim-scaling": "xs_latent_l2 s_latent_l2 m_latent_l2 l_latent_l2",
    "irasim-trainstep": "ratio_step ratio_memory",
    "real-robots": "bridge_v2_seen_psnr bridge_v2_held_out_psnr bridge_rlds_seen_psnr bridge_rlds_held_out_psnr "
    "droid_seen_psnr droid_held_out_psnr droid_new_setup_seen_psnr droid_new_setup_held_out_psnr",
    "plan-pusht": "oracle_iou_k50 "
    + " ".join(f"{n}_k{k}_p{p}" for n in ("iou", "coverage") for k in (1, 5, 10, 50) for p in (0, 100, 200, 500, 1000)),
    "pusht-calibration": "brier_true brier_generated auroc_true auroc_generated",
}


@pytest.mark.parametrize("name", NAMES)
def test_every_promised_number_is_there(root, name):
    assert set(NAMES[name].split()) - set(read_results(root / "results" / f"{name}.json")["metrics"]) == set()


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        *((f"pusht-{kind}", "pusht-nano") for kind in ("video", "coverage", "calibration", "env-bench")),
        *(
            (f"libero-{suite}-{kind}", f"libero-{suite}-nano")
            for suite in ("goal", "object")
            for kind in ("video", "openloop", "env-bench")
        ),
        ("compare-libero-goal", "libero-goal-nano"),
    ],
)
def test_quality_is_that_of_the_shipped_weights(root, name, weights):
    assert read_results(root / "results" / f"{name}.json")["checkpoint"] == open_folder(WEIGHTS / weights).hash
