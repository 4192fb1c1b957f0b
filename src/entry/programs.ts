export type { ProgramOptions } from "../programs/program-tools.ts";
export { registerPrograms } from "../programs/register-programs.ts";
