import type { Question } from "../harness/case.ts";
import { openProgram } from "./programs.ts";

const program: Question = {
  name: "a program waits for three answers",
  cases: [
    { name: "in memory, not suspended", open: () => openProgram(undefined) },
    { name: "suspended and resumed, kept in memory", open: () => openProgram("memory") },
    { name: "suspended and resumed, kept in SQLite", open: () => openProgram("sqlite") },
  ],
};

/** The questions about programs that are suspended while they wait. */
export const questions: readonly Question[] = [program];
