// SPDX-License-Identifier: Apache-2.0
// Operations as records: what every one of them must hold, and how shapes name them.
#include "workload/operation.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "support/check.hpp"
#include "workload/operation_shape.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& text) {
    try {
        parse_shape(text);
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::invalid_argument);
        return error.what();
    }
    ADD_FAILURE() << text << " was accepted";
    return {};
}

std::vector<Workload> examples_of(const OperationRecord& operation, DType dtype) {
    std::vector<Workload> list;
    for (const std::string_view example : operation.examples.value) {
        list.push_back(parse_shape(example, dtype));
    }
    return list;
}

TEST(Operations, AttentionIsOne) {
    EXPECT_EQ(find_operation("attention").name.value, "attention");
    EXPECT_EQ(find_operation(Workload{}.op).passes.front(), Workload{}.pass);
}

TEST(Operations, HoldWhatTheGrammarNeeds) {
    std::set<std::string_view> names;
    for (const OperationRecord* operation : all_operations()) {
        SCOPED_TRACE(std::string(operation->name.value));
        EXPECT_TRUE(names.insert(operation->name.value).second);
        std::set<std::string_view> fields{"op", "pass", "dtype"};
        for (const OperationField& field : operation->fields.value) {
            EXPECT_TRUE(fields.insert(field.name).second) << field.name;
            EXPECT_FALSE(field.meaning.empty()) << field.name;
            EXPECT_EQ(field.kind == FieldKind::own, operation->name.value == "attention");
        }
        EXPECT_TRUE(std::ranges::count(operation->draws.value, Draw::plain));
        EXPECT_FALSE(operation->mutations.value.empty());
    }
}

TEST(Operations, HaveAnExampleThatReadsBackFromTextAndJson) {
    for (const OperationRecord* operation : all_operations()) {
        EXPECT_FALSE(operation->examples.value.empty()) << operation->name.value;
        for (const Workload& w : examples_of(*operation, DType::fp32)) {
            EXPECT_EQ(w.op, operation->name.value);
            EXPECT_EQ(parse_shape(format_shape(w)), w) << format_shape(w);
            EXPECT_EQ(workload_from_json(workload_to_json(w)), w) << workload_to_json(w).dump();
            const std::vector<TensorSpec> tensors = operation->tensors(w);
            EXPECT_LE(std::ssize(tensors), OperationArgs::most);
            EXPECT_TRUE(std::ranges::any_of(tensors, &TensorSpec::output));
            EXPECT_GE(w.flops(), 0);
            EXPECT_GT(w.bytes_read(), 0);
            EXPECT_GT(w.bytes_written(), 0);
            // Attention counts no LSE, and embedding does not read all of its table.
            if (!w.is_attention()) {
                EXPECT_EQ(w.bytes_written(), bytes_of_outputs(w)) << format_shape(w);
            }
            if (!w.is_attention() && w.op != "embedding") {
                EXPECT_EQ(w.bytes_read(), bytes_of_inputs(w)) << format_shape(w);
            }
        }
    }
}

// The grammar and the record of attention are two lists of the same fields.
TEST(Operations, AttentionsFieldsAreThoseOfItsGrammar) {
    for (const OperationField& field : find_operation("attention").fields.value) {
        for (const std::string& text : {std::string(field.name), std::string(field.name) + "=?"}) {
            EXPECT_THAT(refusal(text), testing::Not(HasSubstr("is unknown; "))) << field.name;
        }
    }
}

TEST(OperationShape, OfAttentionIsSpelledWithoutIt) {
    const Workload w = parse_shape("op=attention,pass=forward,h=8,k=512,d=64");
    EXPECT_EQ(w, parse_shape("h=8,k=512,d=64"));
    EXPECT_EQ(format_shape(w), "h=8,q=512,k=512,d=64,dtype=bf16");
    EXPECT_FALSE(workload_to_json(w).contains("op"));
    EXPECT_FALSE(workload_to_json(w).contains("pass"));
    EXPECT_EQ(w.bytes_read(), w.bytes_q() + w.bytes_kv());
    EXPECT_EQ(w.bytes_written(), w.bytes_out());
}

TEST(OperationShape, NamesWhatIsWrong) {
    EXPECT_THAT(refusal("op=atention,h=8,k=1,d=64"),
                HasSubstr("operation 'atention' does not exist; did you mean 'attention'? there "
                          "are: adam attention"));
    EXPECT_THAT(refusal("op=banana"), HasSubstr("operation 'banana' does not exist; there are:"));
    EXPECT_THAT(refusal("h=8,k=1,d=64,pass=backwards"),
                HasSubstr("attention has no pass 'backwards'; its only pass is forward"));
    EXPECT_THAT(refusal("op=add+rmsnorm,n=8x64,pass=backward"),
                HasSubstr("add+rmsnorm has no pass 'backward'; its only pass is forward"))
        << "no name of a folder, which nobody wrote";
    EXPECT_THAT(refusal("h=8,k=1,d=64,pass=forwart"), HasSubstr("did you mean 'forward'?"));
    EXPECT_THAT(refusal("op,h=8"), HasSubstr("shape field 'op' needs a value"));
    EXPECT_THAT(refusal("op=,h=8"), HasSubstr("shape field 'op' needs a value"));
    EXPECT_THAT(refusal("op=attention,op=attention,h=8"),
                HasSubstr("shape field 'op' is given twice"));
    EXPECT_THAT(refusal("h=8,k=1,d=64,,op=attention"), HasSubstr("empty field at character 14"));
    EXPECT_THAT(refusal("h=8,k=1,d=64,n=5"), HasSubstr("'n' is unknown"));
    EXPECT_THAT(refusal("op=" + std::string(1000, 'x')), testing::SizeIs(testing::Lt(300)));
}

TEST(OperationShape, NamesTheWordsThatAFieldTakes) {
    EXPECT_THAT(refusal("op=adam,n=4x4,state=fp16"),
                HasSubstr("shape field 'state' is 'fp16'; it must be one of: fp32 bf16"));
    EXPECT_THAT(refusal("op=adam,n=4x4,state=bf61"), HasSubstr("did you mean 'bf16'?"));
    EXPECT_THAT(refusal("op=embedding,tokens=2,vocab=3,d=8,gather=1"),
                HasSubstr("'gather' is unknown to op=embedding; valid fields: tokens vocab d"));
    EXPECT_EQ(parse_shape("op=adam,n=4x4,state=BF16"), parse_shape("op=adam,n=4x4,state=bf16"));
}

// As in a chain of rows: a number that changes nothing was meant for something else.
TEST(OperationShape, AProductHasAnEpsOnlyWithANorm) {
    EXPECT_THAT(refusal("op=linear,m=2,n=3,k=4,eps=3"),
                HasSubstr("eps is 3: only norms have one, leave it out"));
    EXPECT_THAT(refusal("op=rmsnorm+linear,m=2,n=3,k=4,eps=-1"), HasSubstr("it must be 0 or more"));
    EXPECT_EQ(parse_shape("op=rmsnorm+linear,m=2,n=3,k=4,eps=3").scalar("eps"), 3);
    EXPECT_EQ(parse_shape("op=linear+layernorm,m=2,n=3,k=4,eps=3").scalar("eps"), 3);
}

TEST(OperationShape, OfAFileIsDamageIfItDoesNotExist) {
    for (const char* text :
         {R"({"op":"banana","dtype":"fp32","extents":{},"scalars":{}})",
          R"({"op":"banana","dtype":"fp32","extents":{}})", R"({"op":1,"dtype":"fp32"})",
          R"({"op":"banana","dtype":"fp32","extents":{"n":-1},"scalars":{}})",
          R"({"op":"banana","dtype":"fp32","extents":{"n":1e99},"scalars":{}})"}) {
        try {
            workload_from_json(Json::parse(text));
            ADD_FAILURE() << text << " was accepted";
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), Status::corrupt) << text;
        }
    }
}

TEST(OperationShape, OfAttentionInAFileMayNameIt) {
    Json object = workload_to_json(parse_shape("h=8,k=512,d=64"));
    object["op"] = "attention";
    EXPECT_EQ(workload_from_json(object), parse_shape("h=8,k=512,d=64"));
    object["pass"] = "sideways";
    EXPECT_THROW(workload_from_json(object), Error);
}

TEST(OperationShape, FieldsOfOtherKindsAreRefused) {
    Workload w;
    EXPECT_THROW((void)w.extent("n"), Error);
    EXPECT_THROW((void)w.scalar("a"), Error);
    w.op = "banana";
    EXPECT_THROW(validate(w), Error);
}

}  // namespace
}  // namespace raceline
