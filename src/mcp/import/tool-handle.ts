import { isJsonObject, type JsonObject } from "../../json/value.ts";
import { callTool } from "../../sandboxes/remote/mcp-client/call-tool.ts";
import type { McpConnection } from "../../sandboxes/remote/mcp-client/connection.ts";
import { type CompiledSchema, compileSchema } from "../../schema/compiled-schema.ts";
import { withFixedOrder } from "../../schema/normal-schema.ts";
import type {
  McpCallEnd,
  McpCallOptions,
  McpProgress,
  McpToolHandle,
} from "../../tool/implementations/mcp-implementation.ts";
import type { SideEffects } from "../../tool/side-effects.ts";
import type { CallLinks } from "../gateway/client-link.ts";
import type { ListedTool } from "./listed-tool.ts";

/** What a handle is made of. */
export interface ToolHandleOptions {
  readonly connection: McpConnection;
  readonly tool: ListedTool;
  readonly sideEffects: SideEffects;
  /** The name that the server gives itself; `null` if it gives none. */
  readonly serverName: string | null;
  /** Find the clients of calls. Default: they have none. */
  readonly links?: CallLinks | undefined;
}

/** One tool of a server, as it was listed at one time. */
export class ToolHandle implements McpToolHandle {
  readonly #options: ToolHandleOptions;
  readonly #output: CompiledSchema | undefined;

  /** @throws {SchemaError} if the output schema does not compile. */
  constructor(options: ToolHandleOptions) {
    this.#options = options;
    const { outputSchema } = options.tool;
    this.#output = outputSchema && compileSchema(outputSchema);
    Object.freeze(this);
  }

  get listed(): JsonObject {
    return this.#options.tool.listed;
  }

  async call(args: JsonObject, options: McpCallOptions): Promise<McpCallEnd> {
    const { connection, tool, sideEffects, links } = this.#options;
    const isRepeatable = sideEffects === "none" || sideEffects === "read";
    const { original: name, inputSchema, listed } = tool;
    const called = { name, inputSchema, listed, isRepeatable };
    const { signal, call, pause, onProgress, onLog } = options;
    const linked = links?.of(connection.name, call, pause);
    const report = (progress: McpProgress): void => {
      linked?.client.progress(progress);
      onProgress?.(progress);
    };
    const end = await callTool(connection, called, args, {
      signal,
      ...(onLog && { onLog }),
      ...(linked && { link: linked.link }),
      ...((linked !== undefined || onProgress !== undefined) && { onProgress: report }),
    });
    return end.status === "result" ? this.#checked(end) : end;
  }

  /** A result that is not what the tool declares must not pass for one. */
  #checked(end: Extract<McpCallEnd, { status: "result" }>): McpCallEnd {
    const { structuredContent, isError } = end.result;
    if (this.#output === undefined || isError === true) return end;
    const problems =
      structuredContent === undefined
        ? ["there is no structured content"]
        : this.#output.validate(structuredContent);
    if (problems === undefined) return end;
    const message = "The tool's server returned structured content that is not what the tool declares";
    return { status: "malformed", message, detail: problems.slice(0, 10).join("; ") };
  }

  toJSON(): JsonObject {
    const { connection, tool, serverName } = this.#options;
    const { outputSchema } = tool;
    return {
      server: connection.name,
      serverName,
      tool: tool.original,
      ...(isJsonObject(outputSchema) && { outputSchema: withFixedOrder(outputSchema) }),
      ...(Object.keys(tool.others).length > 0 && { others: tool.others }),
    };
  }
}
