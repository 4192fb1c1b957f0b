import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ToolCall } from "../../src/engine/call.ts";
import type { JsonValue } from "../../src/json/value.ts";

/** What goes wrong elsewhere: messages, and what actors do while their calls are under way, in any interleaving. */
export interface Vector {
  readonly class: string;
  readonly messages: readonly VectorMessage[];
  /** Each actor takes its steps in order. */
  readonly actors: readonly (readonly Step[])[];
}

export interface VectorMessage {
  readonly session: string;
  readonly turn: string;
  readonly id: string;
  readonly calls: readonly ToolCall[];
}

export type Step =
  /** A person looks at the confirmation about a call, as soon as it is open. */
  | { readonly do: "see"; readonly session: string; readonly message: string; readonly call: string }
  /** The person answers what was seen last. */
  | {
      readonly do: "answer";
      readonly decision: "allow" | "deny" | "always";
      readonly by: string;
      readonly arguments?: JsonValue;
      /** The session to which the answer is sent. Default: any. */
      readonly session?: string;
      /** Sends the digest of what was seen first. Default: of what was seen last. */
      readonly digestOf?: "first";
    }
  /** The process dies and another one starts. What the store has not synced is lost. */
  | { readonly do: "crash" }
  /** The caller changes the arguments that it handed over. */
  | { readonly do: "mutate"; readonly message: string; readonly call: string }
  /** The caller sends a message again, maybe with other calls. */
  | { readonly do: "resend"; readonly message: string; readonly calls?: readonly ToolCall[] }
  | { readonly do: "cancel"; readonly message: string }
  /** `auto` asks about nothing; the others ask about writing. */
  | { readonly do: "policy"; readonly to: PolicyVersion }
  /** A person changes the mode of a session. */
  | { readonly do: "mode"; readonly session: string; readonly to: "autonomous" | "cautious" | "manual" }
  | { readonly do: "definition" }
  /** The next write of the store, or the next run of a tool, fails. */
  | { readonly do: "fail-store" | "fail-tool" };

export type PolicyVersion = "wider" | "narrower" | "same" | "deny" | "auto";

/** Reads the vectors, in the order of their files. */
export function readVectors(): readonly Vector[] {
  const folder = join(import.meta.dirname, "vectors");
  return readdirSync(folder)
    .sort()
    .flatMap((file): Vector[] => JSON.parse(readFileSync(join(folder, file), "utf8")));
}
