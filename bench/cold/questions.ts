import type { Question } from "../harness/case.ts";
import { componentSteps } from "./component-steps.ts";
import { firstCalls } from "./first-calls.ts";
import { importing } from "./import.ts";

/** The questions about new processes. */
export const questions: readonly Question[] = [importing, firstCalls, componentSteps];
