import { get } from "./http.ts";

/** A program that is suspended while it waits. */
export interface SuspendedProgram {
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string;
  readonly principal?: string;
  readonly toolName: string;
  /** In milliseconds since the epoch. */
  readonly suspendedAt: number;
  /** How long it may still wait for people, in milliseconds. */
  readonly leftMs: number;
  /** The calls that it waits for, and the inquiries about them. */
  readonly open: readonly {
    readonly callId: string;
    readonly toolName: string;
    readonly requestId?: string;
  }[];
}

/** Lists the suspended programs, the oldest first. */
export async function listPrograms(): Promise<readonly SuspendedProgram[]> {
  return (await get<{ readonly programs: readonly SuspendedProgram[] }>("/v1/programs")).programs;
}
