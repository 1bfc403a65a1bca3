"""The SDK: HLGraph and its parts, one file each."""
