"""Encoders and decoders that are generated for each class, and give exactly what the interpreter gives.

Generated code takes the normal path in a straight line: known types, values in their usual form, nothing missing that
must be there. Whatever else it meets, it hands the whole item to the interpreter, whose errors are therefore the only
ones. The class's own functions (`__init__`, converters, `Normalize`) may then be called a second time.

Nothing is generated before it is used. `DYNAMAP_INTERPRETER=1` in the environment leaves everything to the interpreter;
it is looked at when a class is first encoded or decoded. The source is shown by tracebacks and debuggers.
"""

from dynamap.codec.generated.compiled import CompiledClass, ItemDecoder, ItemEncoder, JsonEncoder, compiled, interpreted
from dynamap.codec.generated.values import item_from_json

__all__ = ["CompiledClass", "ItemDecoder", "ItemEncoder", "JsonEncoder", "compiled", "interpreted", "item_from_json"]
