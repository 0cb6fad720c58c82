"""Other ways to write down changes, one per file, each with converters to operations and back.

An array of operations is an array of their bytes (`CdcOperation.to_u8`). A converter that needs more than the
operation, such as the row before an update, documents it, and refuses a change that it cannot convert (NotConvertible).
"""
