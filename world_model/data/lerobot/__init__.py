"""LeRobot v3.0 folders: parquet tables, lossless video and our contract in ``meta/contract.json``."""
