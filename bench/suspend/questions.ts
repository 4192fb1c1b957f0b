import type { Question } from "../harness/case.ts";
import { openProgram } from "./programs.ts";
import { openResume } from "./resume.ts";

const program: Question = {
  name: "a program waits for three answers",
  cases: [
    { name: "in memory, not suspended", open: () => openProgram(undefined) },
    { name: "suspended and resumed, kept in memory", open: () => openProgram("memory") },
    { name: "suspended and resumed, kept in SQLite", open: () => openProgram("sqlite") },
  ],
};

const resume: Question = {
  name: "a stored program goes on",
  cases: [
    { name: "until its next line, from memory", open: () => openResume("memory") },
    { name: "until its next line, from SQLite", open: () => openResume("sqlite") },
  ],
};

/** The questions about programs that are suspended while they wait. */
export const questions: readonly Question[] = [program, resume];
