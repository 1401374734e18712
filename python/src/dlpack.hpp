// SPDX-License-Identifier: Apache-2.0
// The structs of the DLPack interface, versions 0 and 1, as its specification lays them out
// (https://dmlc.github.io/dlpack/latest/c_api.html).
#pragma once

#include <cstdint>

namespace raceline::python::dlpack {

enum DeviceType : std::int32_t { cpu = 1, cuda = 2, cuda_host = 3, cuda_managed = 13 };

enum TypeCode : std::uint8_t {
    integer = 0,
    unsigned_integer = 1,
    floating = 2,
    bfloat = 4,
    complex = 5,
    boolean = 6,
    e4m3fn = 10,
    e5m2 = 12
};

struct Device {
    std::int32_t type;
    std::int32_t id;
};

struct DataType {
    std::uint8_t code;
    std::uint8_t bits;
    std::uint16_t lanes;
};

struct Tensor {
    void* data;
    Device device;
    std::int32_t ndim;
    DataType dtype;
    std::int64_t* shape;
    std::int64_t* strides;  ///< in elements; null: row-major
    std::uint64_t byte_offset;
};

struct Managed {
    Tensor tensor;
    void* context;
    void (*deleter)(Managed*);
};

struct ManagedVersioned {
    std::uint32_t major;
    std::uint32_t minor;
    void* context;
    void (*deleter)(ManagedVersioned*);
    std::uint64_t flags;
    Tensor tensor;
};

/// What a type of tensors offers without Python in between; the last member but one may be null.
struct Exchange {
    std::uint32_t major;
    std::uint32_t minor;
    const void* previous;
    void* allocate;
    void* export_managed;
    void* import_managed;
    int (*read)(void* object, Tensor* memory);
    int (*current_stream)(std::int32_t device_type, std::int32_t device_id, void** stream);
};

inline constexpr const char* exchange_capsule_name = "dlpack_exchange_api";
inline constexpr const char* capsule_name = "dltensor";
inline constexpr const char* versioned_capsule_name = "dltensor_versioned";

}  // namespace raceline::python::dlpack
