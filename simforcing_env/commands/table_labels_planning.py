"""What the metrics of planning are called in tables for people."""

from collections.abc import Mapping
from types import MappingProxyType

_COUNTS = (1, 5, 8, 10, 16, 50)
_ROLLOUTS = (0, 100, 200, 500, 1000)
_ENDS = {
    "iou": "IoU at the end",
    "best_iou": "best IoU of an episode",
    "coverage": "coverage at the end",
    "best_coverage": "best coverage of an episode",
    "success_coverage": "coverage above 0.95 at the end",
    "ever_success_coverage": "coverage above 0.95 at any time",
    "success_pose": "block at the goal pose at the end",
    "ever_success_pose": "block at the goal pose at any time",
    "success": "success",
    "ever_success": "success at any time",
}


def _planned(count: int) -> str:
    return "no plan" if count == 1 else f"{count} futures"


PLANNING: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "plan-ranking": {
            "pearson": "correlation of predicted and true value over the candidates of a moment",
            "pearson_all": "the same over all candidates",
            "regret": "regret of the chosen candidate",
            "regret_no_penalty": "regret without the penalty for doubt",
            "regret_blind": "regret of a blind choice",
            "regret_shared_noise": "regret under other noise, the same for all candidates",
            "regret_own_noise": "regret under noise of its own for each candidate",
            "crn_variance_ratio": "variance of differences between candidates, shared noise over own",
            "value_error": "error of the predicted value",
            "value_error_rms": "error of the predicted value, rms",
            "doubt_rms": "error that the model expects of itself, rms",
            "doubt_spearman": "rank correlation of the expected and the true error",
        },
        "plan-": {
            **{
                f"{name}_k{count}_p{rollouts}": f"{label}, {_planned(count)}, P = {rollouts}"
                for name, label in _ENDS.items()
                for count in _COUNTS
                for rollouts in _ROLLOUTS
            },
            **{
                f"oracle_{name}_k{count}": f"{label}, {_planned(count)} in the true simulator"
                for name, label in _ENDS.items()
                for count in _COUNTS
            },
            **{f"plan_s_k{count}": f"time of a plan with {count} futures" for count in _COUNTS},
            **{f"mcnemar_p_k{count}": f"McNemar's p, {count} futures against no plan" for count in _COUNTS},
            "success_without": "success without plans",
            "success_with": "success with plans, most futures",
            "mcnemar_p": "McNemar's p of the two",
        },
    }
)
"""Beginning of a results file's name to labels; the first that fits counts."""
