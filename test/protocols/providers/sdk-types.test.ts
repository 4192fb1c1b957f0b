import { describe, expectTypeOf, test } from "vitest";
import { bedrockConverseProtocol } from "../../../src/protocols/providers/bedrock-converse.ts";
import { cohereSdkProtocol } from "../../../src/protocols/providers/cohere.ts";
import { registry } from "../converse.ts";

// The SDKs are no dependencies, as they have dozens of their own. What follows are the parts of their published types
// that our messages have to match: `dist-types/models/models_0.d.ts` of `@aws-sdk/client-bedrock-runtime` 3.1164.0, and
// `api/types` of `cohere-ai` 8.1.0.

/** A union of objects in which one member is set, as the AWS SDK writes it. */
type OneOf<Members> = {
  [Name in keyof Members]: { [Set in Name]: Members[Set] } & {
    [Other in Exclude<keyof Members, Name>]?: never;
  };
}[keyof Members];

type AwsDocument = null | boolean | number | string | AwsDocument[] | { [member: string]: AwsDocument };

interface AwsToolResultBlock {
  toolUseId: string | undefined;
  content:
    | OneOf<{
        json: AwsDocument;
        text: string;
        image: object;
        document: object;
        video: object;
        searchResult: object;
        $unknown: [string, unknown];
      }>[]
    | undefined;
  status?: "error" | "success" | undefined;
  type?: string | undefined;
}

interface AwsToolUseBlock {
  toolUseId: string | undefined;
  name: string | undefined;
  input: AwsDocument | undefined;
  type?: "server_tool_use" | undefined;
}

interface AwsMessage {
  role: "assistant" | "user" | undefined;
  content:
    | OneOf<{
        text: string;
        image: object;
        document: object;
        video: object;
        audio: object;
        toolUse: AwsToolUseBlock;
        toolResult: AwsToolResultBlock;
        guardContent: object;
        cachePoint: object;
        reasoningContent: object;
        citationsContent: object;
        searchResult: object;
        toolAddition: object;
        toolRemoval: object;
        $unknown: [string, unknown];
      }>[]
    | undefined;
}

type AwsTool = OneOf<{
  toolSpec: {
    name: string | undefined;
    description?: string | undefined;
    inputSchema: OneOf<{ json: AwsDocument; $unknown: [string, unknown] }> | undefined;
    strict?: boolean | undefined;
  };
  systemTool: object;
  cachePoint: object;
  $unknown: [string, unknown];
}>;

interface CohereToolV2 {
  type: "function";
  function?: { name: string; description?: string; parameters: Record<string, unknown> };
}

type CohereChatMessageV2 =
  | {
      role: "assistant";
      toolCalls?: { id: string; type: "function"; function?: { name?: string; arguments?: string } }[];
      toolPlan?: string;
      content?: string | { type: "text"; text: string }[];
      citations?: object[];
    }
  | { role: "tool"; toolCallId: string; content: string | { type: "text"; text: string }[] }
  | { role: "user" | "system"; content: string | { type: "text"; text: string }[] };

describe("the SDK's types accept", () => {
  test("what is written for Bedrock", () => {
    const bedrock = bedrockConverseProtocol(registry);
    expectTypeOf(bedrock.toTools().tools).toExtend<AwsTool[]>();
    expectTypeOf(bedrock.toMessages).returns.toExtend<readonly AwsMessage[]>();
    expectTypeOf(bedrock.toResults).returns.toExtend<readonly AwsMessage[]>();
  });

  test("what is written for Cohere", () => {
    const cohere = cohereSdkProtocol(registry);
    expectTypeOf(cohere.toTools().tools).toExtend<CohereToolV2[]>();
    expectTypeOf(cohere.toMessages).returns.toExtend<readonly CohereChatMessageV2[]>();
    expectTypeOf(cohere.toResults).returns.toExtend<readonly CohereChatMessageV2[]>();
  });

  test("no other names of members", () => {
    type Wrong = { readonly role: "tool"; readonly tool_call_id: string; readonly content: string };
    expectTypeOf<Wrong>().not.toExtend<CohereChatMessageV2>();
    expectTypeOf<{ readonly text: string; readonly toolUse: AwsToolUseBlock }>().not.toExtend<
      NonNullable<AwsMessage["content"]>[number]
    >();
  });
});
