"""What the published protocols are, in words that stand in every report."""

from __future__ import annotations

from types import MappingProxyType

PROTOCOLS = MappingProxyType(
    {
        "short": (
            "IRASim's short protocol. Windows of 16 frames at every 16th frame of each held-out episode: one "
            "known frame, then 15 that are generated under the recorded actions. Frame t is held against true "
            "frame t; the known frame is not counted. Latent L2 is the mean squared difference of the codec's "
            "scaled latents, as sampled, and those of the true frames; PSNR and SSIM are of grey pictures with a "
            "range of 255 (SSIM with square windows of 7 pixels); FID is over all generated frames and FVD over "
            "all windows, against the true ones. Every window counts once, all of them are averaged and intervals "
            "are over episodes. It differs from the published scripts in this: frames are compared as they are, "
            "not after an mp4 file; identical frames count as 60 dB instead of infinity; FVD takes windows as "
            "they are, without their mirror images. Latent L2 of two codecs cannot be compared, nor can FVD "
            "across papers."
        ),
        "long": (
            "IRASim's long protocol. Whole held-out episodes from their first frame alone, in chunks of 15 "
            "actions; the last chunk is filled by repeating its first remaining action and the frames beyond the "
            "episode are not counted. The sampled latents are carried over as they are (--carry latents); --carry "
            "frames is the environments' own rule: decode, round to 8 bits, encode again. Frame t is held against "
            "true frame t. Latent L2 and colour PSNR are means over an episode's frames, then over episodes; "
            "intervals are over episodes. A model that goes frame by frame carries every frame, one that takes "
            "chunks the last of each."
        ),
        "beyond": (
            "Beyond the paper. Colour PSNR and SSIM (Gaussian windows of 11 pixels) and LPIPS (AlexNet, v0.1); "
            "_copy is the last known frame for ever. shuffle_gap_db, zero_gap_db, shift_minus_gap_db and "
            "shift_plus_gap_db: PSNR lost when a window gets another episode's actions, is told to hold still, or "
            "gets actions a frame off; best_shift is the shift that fits best, 0 where actions and frames stand "
            "in line. action_r2 and action_mae: actions read from neighbouring frames by a small network trained "
            "on true pairs of the training split; _true is its own error, _generated are frames under the true "
            "actions, _shuffled frames under another episode's actions held against those; _control holds the "
            "generated frames against the other episode's actions and _still reads one frame twice. _hK is frame "
            "K alone."
        ),
    }
)
"""Part of a report to its text."""
