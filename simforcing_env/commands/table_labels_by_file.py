"""What metrics of one kind of results files are called in tables for people, where the name says too little."""

from types import MappingProxyType

from simforcing_env.commands.table_labels import LABELS
from simforcing_env.commands.table_labels_planning import PLANNING

BY_FILE = MappingProxyType(
    {
        **PLANNING,
        "pusht-coverage": {
            "pearson": "Pearson correlation of predicted and true coverage",
            "mae": "mean absolute error of coverage",
            "pearson_true_frames": "the same correlation of the heads on true frames",
            "mae_true_frames": "the same error of the heads on true frames",
            "pearson_copy": "correlation of the true coverage before with the one after",
            "mae_copy": "error of saying that coverage does not change",
            "mae_near": "error where true coverage is above 0.5",
            "mae_copy_near": "the same of saying that it does not change",
            "mae_changed": "error where coverage changes by more than 0.05",
            "mae_copy_changed": "the same of saying that it does not change",
            "bias": "mean of predicted minus true coverage",
            "n": "starts",
        },
        "compare": {
            "pearson": "Pearson correlation of true and imagined success over policies",
            "spearman": "Spearman correlation of the same",
            "kendall": "Kendall's tau of the same",
            "mmrv": "mean maximum rank violation (lower is better)",
            "bias": "mean absolute difference of imagined and true success over policies",
            "bias_signed": "mean of imagined minus true success",
            "agreement": "episodes that end alike",
            "kappa": "Cohen's kappa of the ends of episodes",
            "success_true": "success in truth, all policies",
            "success_learned": "success in the learned simulator, all policies",
            "policies": "policies",
            "tasks": "tasks",
            "episodes": "episodes of each side",
            "noise_floor": "noise floor: mean absolute difference of a second true run with other seeds",
            "noise_floor_pearson": "noise floor: Pearson correlation",
            "noise_floor_spearman": "noise floor: Spearman correlation",
            "noise_floor_kendall": "noise floor: Kendall's tau",
            "noise_floor_mmrv": "noise floor: mean maximum rank violation",
            "noise_floor_bias_signed": "noise floor: mean difference",
            "noise_floor_agreement": "noise floor: episodes that end alike",
            "noise_floor_kappa": "noise floor: Cohen's kappa",
            "pearson_by_task": "Pearson correlation over policies within a task, mean of tasks",
            "spearman_by_task": "Spearman correlation within a task",
            "mmrv_by_task": "mean maximum rank violation within a task",
            "bias_by_task": "mean absolute difference within a task",
            "pearson_coverage": "Pearson correlation of the best coverage of episodes, over policies",
            "spearman_coverage": "Spearman correlation of the same",
            "bias_coverage": "mean absolute difference of the same",
            "pairs": "pairs of policies",
            "pairs_right": "pairs that differ in truth (McNemar) and are ordered alike in imagination",
            "stops_right": "pairs that sequential evidence tells apart in truth and in imagination alike",
            "stop_episodes": "imagined episodes until that evidence, mean",
            "speedup": "times as fast as the true evaluation, policy included",
            "speedup_env": "times as fast, environments alone",
            "parted_pixel": "episodes whose pictures part from the true ones while both run",
            "horizon_pixel": "frame by which the pictures of half of them have parted",
            "parted_proprio": "episodes whose proprio parts",
            "horizon_proprio": "frame by which the proprio of half of them has parted",
            "parted_state": "episodes whose objects part",
            "horizon_state": "frame by which the objects of half of them have parted",
            "uncertainty_auroc": "AUROC of the mean uncertainty for a wrong end",
            "uncertainty_most_auroc": "AUROC of the largest uncertainty for a wrong end",
            "outside": "imagined frames with actions unlike the training data",
            "outside_auroc": "AUROC of their share for a wrong end",
            "pearson_goal": "second judge (goal images): Pearson correlation",
            "spearman_goal": "second judge: Spearman correlation",
            "bias_goal": "second judge: mean absolute difference",
            "kappa_goal": "second judge: Cohen's kappa",
            "judges_agree": "imagined episodes on which both judges agree",
            "pearson_truncated": "Pearson correlation, counting only what comes before the two sides part",
            "mmrv_truncated": "mean maximum rank violation of the same",
            "bias_truncated": "mean absolute difference of the same",
            "kappa_truncated": "Cohen's kappa of the same",
            "successes_cut_off": "true successes that come after the parting",
        },
        "ppi": {
            "width_ratio": "width of the corrected interval over that of true episodes alone",
            "coverage": "share of corrected 95 % intervals that hold the true score",
            "coverage_true_only": "the same of intervals from true episodes alone",
            "coverage_least": "corrected intervals that hold it, worst policy",
            **{
                f"{name}_kappa_{kappa}": f"{label}, simulated sides of kappa {kappa}"
                for kappa in ("0", "0.6", "0.8", "0.95")
                for name, label in {
                    "width_ratio": "width over that of true episodes alone",
                    "coverage": "corrected intervals that hold the true score",
                    "coverage_true_only": "intervals from true episodes alone that hold it",
                }.items()
            },
            "true_episodes": "true episodes",
            "imagined_episodes": "imagined episodes",
            "repeats": "simulated evaluations",
            "policies": "policies",
        },
        "irasim-trainstep": {
            **{
                f"{name}_{who}_{precision}": f"{label}, {side}, {precision}"
                for name, label in {"step": "training step", "memory": "peak memory"}.items()
                for who, side in {"ours": "ours", "plain": "published operations"}.items()
                for precision in ("float32", "bfloat16")
            },
            "ratio_step": "published over our time, float32",
            "ratio_step_best": "published over our time, best precision of each",
            "ratio_memory": "published over our memory, float32",
            "ratio_memory_best": "published over our memory, best precision of each",
        },
        "real-": {
            "shuffle_gap_db": "PSNR lost with another episode's actions",
            "zero_gap_db": "PSNR lost when told to hold still",
        },
        "reader-fuzz": {
            "mutations": "damaged files",
            "clear_errors": "refused by one clear sentence",
            "unclear_errors": "refused otherwise",
            "read_same": "read as before the damage",
            "read_other": "read with other content",
            "crashes": "crashes",
            "hangs": "not done after 10 s",
            "samples": "real files that were damaged",
            "slowest_s": "slowest",
            "most_memory_mb": "most memory",
        },
    }
)
"""Beginning of a results file's name to labels that stand before `LABELS`."""


def label(file: str, metric: str) -> str | None:
    """What a metric of the results file ``file`` (without its ending) is called, where that is known."""
    own = next((labels for start, labels in BY_FILE.items() if file.startswith(start)), {})
    return own.get(metric, LABELS.get(metric))
