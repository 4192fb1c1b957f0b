import { get, withQuery } from "./http.ts";

/** The ranges of time that end now, and what people call them. */
export const RANGES = { hour: "Last hour", day: "24 hours", week: "7 days", month: "30 days" } as const;

/** The name of a range of time. */
export type Range = keyof typeof RANGES;

/** Numbers of calls. */
export interface Counts {
  readonly calls: number;
  readonly denied: number;
  readonly failed: number;
  /** The calls about which a person was asked. */
  readonly asked: number;
}

/** Something that is counted by name; all further names if `name` is absent. */
export interface Named {
  readonly name?: string;
}

/** What the journal has of a range of time. Names are escaped by the server. */
export interface RecordedOverview {
  /** The time of the first step, in milliseconds since the epoch. */
  readonly from: number;
  readonly to: number;
  readonly stepMs: number;
  /** Whether everything was counted. */
  readonly isComplete: boolean;
  readonly steps: readonly Counts[];
  readonly total: Counts & { readonly sessions: number };
  readonly tools: readonly (Named & Omit<Counts, "asked">)[];
  /** The name is empty for calls that no rule allowed. */
  readonly rules: readonly (Named & { readonly denied: number })[];
  readonly sandboxes: readonly (Named & {
    readonly calls: number;
    readonly p50Ms: number;
    readonly p95Ms: number;
  })[];
  readonly approvers: readonly (Named & {
    readonly allowed: number;
    readonly denied: number;
    /** How many were allowed within 2 s of the question. */
    readonly quick: number;
    readonly p50Ms?: number;
    readonly p95Ms?: number;
  })[];
  readonly limits: readonly (Named & { readonly calls: number })[];
}

/** What happened and how things are, in numbers. */
export interface OverviewNumbers {
  readonly sessions: { readonly open: number; readonly running: number; readonly waiting: number };
  readonly mcpServers: readonly {
    readonly name: string;
    readonly isConnected: boolean;
    readonly tools: number;
  }[];
  /** Absent if the server has no journal. */
  readonly recorded?: RecordedOverview;
}

/** Reads the numbers of a range of time. */
export function readOverview(range: Range): Promise<OverviewNumbers> {
  return get(withQuery("/v1/overview", { range }));
}
