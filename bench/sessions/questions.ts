import type { Question } from "../harness/case.ts";
import { calls } from "./calls.ts";
import { clients } from "./clients.ts";
import { confirmations } from "./confirmations.ts";
import { consoleCalls } from "./console.ts";
import { idle } from "./idle.ts";

/** The questions about sessions, and the people whom they ask. */
export const questions: readonly Question[] = [calls, consoleCalls, confirmations, idle, clients];
