import type { ModeState, SessionMode } from "./mode.ts";

/** What a store keeps of a mode. */
export interface StoredMode {
  /** Not checked. */
  readonly mode: unknown;
  readonly isPlanApproved: boolean;
  /** The id of the last inquiry with which a plan was approved, perhaps in an earlier mode; `undefined` if there is none. */
  readonly planInquiry: string | undefined;
}

/**
 * Returns a mode as a text for a store: its name, or JSON if there is more to it than its name. A mode of the configuration
 * is stored by its name, so that it is what the configuration says when it is read.
 */
export function writeStoredMode(
  { mode, isPlanApproved }: Pick<ModeState, "mode" | "isPlanApproved">,
  planInquiry?: string,
): string {
  if (typeof mode === "string" && !isPlanApproved && planInquiry === undefined) return mode;
  const stored: { readonly mode: SessionMode; readonly plan?: "approved"; readonly planInquiry?: string } = {
    mode,
    ...(isPlanApproved && { plan: "approved" }),
    ...(planInquiry !== undefined && { planInquiry }),
  };
  return JSON.stringify(stored);
}

/** @throws {SyntaxError} if a text that looks like JSON is none. */
export function readStoredMode(text: string): StoredMode {
  if (!text.startsWith("{")) return { mode: text, isPlanApproved: false, planInquiry: undefined };
  const { mode, plan, planInquiry } = JSON.parse(text) as Partial<
    Record<"mode" | "plan" | "planInquiry", unknown>
  >;
  return {
    mode,
    isPlanApproved: plan === "approved",
    planInquiry: typeof planInquiry === "string" ? planInquiry : undefined,
  };
}
