"""The numbers of the container and their names: data types and layouts.

A dump has an enumeration of data types of its own. The one of the compiler (GE, acl) differs from it in
every number but that of BF16; nothing in a tensor's own record uses that.
"""

from __future__ import annotations

from ..tensors.dtypes import Dtype, dtype_of

DATA_TYPES = (
    *("UNDEFINED", "FLOAT", "FLOAT16", "INT8", "UINT8", "INT16", "UINT16", "INT32", "INT64", "UINT32"),
    *("UINT64", "BOOL", "DOUBLE", "STRING", "DUAL_SUB_INT8", "DUAL_SUB_UINT8", "COMPLEX64", "COMPLEX128"),
    *("QINT8", "QINT16", "QINT32", "QUINT8", "QUINT16", "RESOURCE", "STRING_REF", "DUAL", "VARIANT"),
    *("BF16", "INT4", "UINT1", "INT2", "UINT2", "COMPLEX32", "HIFLOAT8", "FLOAT8_E5M2", "FLOAT8_E4M3FN"),
    *("FLOAT8_E8M0", "FLOAT6_E3M2", "FLOAT6_E2M3", "FLOAT4_E2M1", "FLOAT4_E1M2", "HIFLOAT4"),
    "HIFLOAT4_SCALE",
)
"""By number, as `data_type` of a tensor in a dump."""

FORMATS = (
    *("NCHW", "NHWC", "ND", "NC1HWC0", "FRACTAL_Z", "NC1C0HWPAD", "NHWC1C0", "FSR_NCHW", "FRACTAL_DECONV"),
    *("C1HWNC0", "FRACTAL_DECONV_TRANSPOSE", "FRACTAL_DECONV_SP_STRIDE_TRANS", "NC1HWC0_C04"),
    *("FRACTAL_Z_C04", "CHWN", "FRACTAL_DECONV_SP_STRIDE8_TRANS", "HWCN", "NC1KHKWHWC0", "BN_WEIGHT"),
    *("FILTER_HWCK", "HASHTABLE_LOOKUP_LOOKUPS", "HASHTABLE_LOOKUP_KEYS", "HASHTABLE_LOOKUP_VALUE"),
    *("HASHTABLE_LOOKUP_OUTPUT", "HASHTABLE_LOOKUP_HITS", "C1HWNCoC0", "MD", "NDHWC", "FRACTAL_ZZ"),
    *("FRACTAL_NZ", "NCDHW", "DHWCN", "NDC1HWC0", "FRACTAL_Z_3D", "CN", "NC", "DHWNC"),
    *("FRACTAL_Z_3D_TRANSPOSE", "FRACTAL_ZN_LSTM", "FRACTAL_Z_G", "RESERVED", "ALL", "NULL"),
    *("ND_RNN_BIAS", "FRACTAL_ZN_RNN", "YUV", "YUV_A", "NCL", "FRACTAL_Z_WINO", "C1HWC0"),
    *("FRACTAL_NZ_C0_16", "FRACTAL_NZ_C0_32", "FRACTAL_NZ_C0_2", "FRACTAL_NZ_C0_4", "FRACTAL_NZ_C0_8"),
)
"""By number, as `format` of a tensor in a dump; 255 is MAX."""

_OTHER_NAMES = {"FLOAT8_E8M0": "float8_e8m0fnu", "RESOURCE": "int64"}  # a resource is a handle of 8 bytes


def data_type_name(number: int) -> str:
    """ "FLOAT16" and the like; "type 99" for a number that has no name yet."""
    return DATA_TYPES[number] if number < len(DATA_TYPES) else f"type {number}"


def format_name(number: int) -> str:
    """ "ND" and the like; "format 99" for a number that has no name yet."""
    if number == 255:
        return "MAX"
    return FORMATS[number] if number < len(FORMATS) else f"format {number}"


def dtype_of_data_type(name: str) -> Dtype | None:
    """How elements of a data type ("FLOAT16", "DT_FLOAT16") are stored.

    None where an element is no whole number of bytes (INT4, UINT1 ...), has no fixed size (STRING), or is
    of a format that is not decoded (HIFLOAT8, COMPLEX32, quantised and undefined types).
    """
    plain = name.removeprefix("DT_")
    return dtype_of(_OTHER_NAMES.get(plain, plain)) if plain in DATA_TYPES else None
