"""Messages of protobuf from tables, in a pool of their own.

Two packages in one process that register the same file name in the default pool of protobuf fail, and the reference's
package uses that pool. Messages of a pool of their own have the same bytes and methods.
"""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_Field = descriptor_pb2.FieldDescriptorProto
_PACKAGE = "sentencepiece"
_MAX_NUMBER = 536_870_912


def messages(module, file_name, tables):
    """The classes of the messages of a file, by name, for the module that has them as attributes.

    ``tables`` has for each message its name, the lines of its fields (``number name type default``), its enums and its
    nested messages.
    """
    file = descriptor_pb2.FileDescriptorProto(name=file_name, package=_PACKAGE, syntax="proto2")
    for table in tables:
        _add_message(file.message_type.add(), table)
    pool = descriptor_pool.DescriptorPool()
    # A pool has no `Add` for messages in newer releases, and no `AddSerializedFile` result in older ones.
    pool.AddSerializedFile(file.SerializeToString())
    descriptor = pool.FindFileByName(file_name)
    found = descriptor.message_types_by_name.items()
    classes = {name: message_factory.GetMessageClass(message) for name, message in found}
    for name, message in classes.items():
        _make_picklable(message, name, module)
    return descriptor, classes


def _make_picklable(message, qualified_name, module):
    """Pickles find a class by its module and name. The messages of protobuf look in the default pool."""
    message.__module__ = module
    message.__qualname__ = qualified_name
    message.__reduce__ = _reduced
    for nested in message.DESCRIPTOR.nested_types:
        if not hasattr(message, nested.name):  # in the implementation of protobuf in Python
            setattr(message, nested.name, message_factory.GetMessageClass(nested))
        _make_picklable(getattr(message, nested.name), f"{qualified_name}.{nested.name}", module)


def _reduced(self):
    return _parsed, (type(self), self.SerializePartialToString())


def _parsed(message, serialized):
    parsed = message()
    parsed.MergeFromString(serialized)
    return parsed


def _add_message(message, table):
    message.name = table["name"]
    if table.get("extensible", True):
        message.extension_range.add(start=200, end=_MAX_NUMBER)
    for line in table["fields"].strip().splitlines():
        _add_field(message.field.add(), line.split(None, 3))
    for name, values in table.get("enums", {}).items():
        enum = message.enum_type.add(name=name)
        for value, number in values.items():
            enum.value.add(name=value, number=number)
    for nested in table.get("nested", ()):
        _add_message(message.nested_type.add(), nested)


def _add_field(field, words):
    number, name, kind, *default = words
    field.number = int(number)
    field.name = name
    repeated = kind.endswith("*")
    kind = kind.rstrip("*")
    field.label = _Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL
    kind, _, type_name = kind.partition(":")
    field.type = getattr(_Field, f"TYPE_{kind.upper()}")
    if type_name:
        field.type_name = f".{_PACKAGE}.{type_name}"
    if default:
        field.default_value = default[0].strip("|")
