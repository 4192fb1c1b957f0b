import type { JsonObject } from "../../json/value.ts";
import type { HostContext } from "../../tool/implementations/implementations.ts";

/** Something that a client can read: `resources/read` of MCP. Reading it is a call of the class `read`, under the policy. */
export interface McpResource extends McpResourceTraits {
  readonly uri: string;
  /** Reads it. What it throws fails the call, as for a host tool. */
  readonly read: (context: HostContext) => McpResourceContents | Promise<McpResourceContents>;
}

/** Many resources with similar URIs. */
export interface McpResourceTemplate extends McpResourceTraits {
  /** A URI template (RFC 6570), such as `docs://{section}/{page}`. */
  readonly uriTemplate: string;
  /** Whether a URI is one of them. Default: it matches the template. */
  readonly matches?: (uri: string) => boolean;
  /** Reads one of them. */
  readonly read: (
    uri: string,
    variables: Readonly<Record<string, string | readonly string[]>>,
    context: HostContext,
  ) => McpResourceContents | Promise<McpResourceContents>;
  /** Suggests values of variables, by their names. Default: none. */
  readonly complete?: Readonly<Record<string, McpComplete>>;
}

/** The metadata of resources in a list. */
export interface McpResourceTraits {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly annotations?: JsonObject;
  readonly _meta?: JsonObject;
  /** The MCP server that it is imported from: an argument of the call, on which the policy can decide. Default: none. */
  readonly server?: string;
}

/** What reading a resource returns. */
export interface McpResourceContents {
  /** With `text`, or with `blob` in base64. */
  readonly contents: readonly {
    readonly uri: string;
    readonly mimeType?: string;
    readonly text?: string;
    readonly blob?: string;
    readonly _meta?: JsonObject;
  }[];
}

/** A prompt that a person can choose at a client: `prompts/get` of MCP, which is a call of the class `read`, too. */
export interface McpPrompt {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  /** Default: none. */
  readonly arguments?: readonly McpPromptArgument[];
  /** Writes the messages. */
  readonly get: (
    args: Readonly<Record<string, string>>,
    context: HostContext,
  ) => McpPromptMessages | Promise<McpPromptMessages>;
  readonly _meta?: JsonObject;
  /** The MCP server that it is imported from. Default: none. */
  readonly server?: string;
}

/** An argument of a prompt. */
export interface McpPromptArgument {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly required?: boolean;
  /** Suggests values. Default: none. */
  readonly complete?: McpComplete;
}

/** What a prompt returns. The content of a message is a content block of MCP. */
export interface McpPromptMessages {
  readonly description?: string;
  readonly messages: readonly { readonly role: "user" | "assistant"; readonly content: JsonObject }[];
}

/** Suggests values that begin as a text does. The first 100 are sent. A call of `completion/complete`, of the class `read`. */
export type McpComplete = (
  value: string,
  others: Readonly<Record<string, string>>,
  context: HostContext,
) => readonly string[] | Promise<readonly string[]>;

/** The resources and prompts of a server. The lists are read at each request. */
export interface McpOffers {
  /** Default: none. */
  readonly resources?: readonly McpResource[];
  /** Default: none. */
  readonly resourceTemplates?: readonly McpResourceTemplate[];
  /** Default: none. */
  readonly prompts?: readonly McpPrompt[];
}
