import { existsSync } from "node:fs";
import { ConfigError } from "../../config/problem.ts";
import { readConfigFile } from "../../config/source.ts";
import { SqliteSuspensionStore } from "../../programs/stores/sqlite-store.ts";
import { type ProgramHeader, SuspensionStoreError } from "../../programs/stores/suspension-store.ts";
import { joinShown, ShownText, shown } from "../../rendering/shown.ts";
import { engineBuild } from "../../sandboxes/quickjs/suspension/engine-build.ts";
import { loadSessions } from "../config/load-sessions.ts";
import { UsageError } from "../errors.ts";
import { EXIT_OK, type ExitCode, print, type Terminal } from "../terminal.ts";

/** Where suspended programs are: a file, or a config whose sessions store them. */
export type ProgramsPlace = { readonly file: string } | { readonly config: string };

/** How many characters of an id are printed: enough to distinguish programs. */
const SHORT_ID = 12;

/** Prints the programs that are suspended, the oldest first. */
export async function list(
  { place, isJson }: { readonly place: ProgramsPlace; readonly isJson: boolean },
  { stdout }: Terminal,
): Promise<ExitCode> {
  const store = await openPrograms(place, true);
  try {
    const programs = await store.list();
    if (isJson) await print(stdout, new ShownText(JSON.stringify(programs), { isData: true }));
    else if (programs.length === 0) await print(stdout, shown`no program is suspended`);
    else await print(stdout, joinShown(programs.map(lineOf), "\n"));
    return EXIT_OK;
  } finally {
    await store.close();
  }
}

function lineOf(program: ProgramHeader): ShownText {
  const { id, toolName, principal = "-", sessionId, open } = program;
  const calls = open.length === 1 ? "1 call" : `${open.length} calls`;
  return shown`${id.slice(0, SHORT_ID)}  ${toolName}  ${principal}  session ${sessionId}  ${calls} open  ${leftText(program)}`;
}

/** Says how long a program may still wait, that it runs, or that this version cannot continue it. */
function leftText({ state, waitUntil, build }: ProgramHeader): string {
  if (state === "taken") return "running";
  if (build !== engineBuild()) return "suspended by another build";
  const left = waitUntil - Date.now();
  if (left <= 0) return "expired";
  const minutes = Math.ceil(left / 60_000);
  if (minutes < 120) return `${minutes} min left`;
  return minutes < 2_880 ? `${Math.round(minutes / 60)} h left` : `${Math.round(minutes / 1_440)} days left`;
}

/** Removes a suspended program: it cannot continue, and its call ends as interrupted when it would. */
export async function cancel(
  { place, id }: { readonly place: ProgramsPlace; readonly id: string },
  { stdout }: Terminal,
): Promise<ExitCode> {
  const store = await openPrograms(place, false);
  try {
    const program = findProgram(await store.list(), id);
    await store.remove(program.id);
    await store.removeTemplates();
    await print(stdout, shown`removed the suspended program ${program.id} of the tool ${program.toolName}`);
    return EXIT_OK;
  } finally {
    await store.close();
  }
}

/** Prints what is readable of a suspended program. Its heap and the results of its calls are sealed. */
export async function show(
  { place, id }: { readonly place: ProgramsPlace; readonly id: string },
  { stdout }: Terminal,
): Promise<ExitCode> {
  const store = await openPrograms(place, true);
  try {
    const program = findProgram(await store.list(), id);
    const { sealed } = (await store.get(program.id)) ?? {};
    const ended = (await store.calls(program.id)).filter((call) => call.sealed !== undefined).length;
    const { turnId, messageId, callId, sessionId, toolName, principal = "not known", suspendedAt } = program;
    await print(
      stdout,
      joinShown(
        [
          shown`${program.id}`,
          shown`  tool: ${toolName}`,
          shown`  principal: ${principal}`,
          shown`  call: session ${sessionId}, turn ${turnId}, message ${messageId}, call ${callId}`,
          shown`  suspended: ${new Date(suspendedAt).toISOString()} (suspension ${String(program.revision)} of this program)`,
          shown`  state: ${program.state}, ${leftText(program)}`,
          shown`  calls with a result: ${String(ended)}`,
          ...program.open.map(
            ({ number, toolName: called }) => shown`  waits for: ${called} (${callId}/${String(number)})`,
          ),
          shown`  policy: ${program.policyRevision ?? "not known"}`,
          shown`  engine: ${program.build}`,
          shown`  template: ${program.template}`,
          shown`  sealed: ${String(sealed?.length ?? 0)} bytes, with the key ${program.keyId}`,
        ],
        "\n",
      ),
    );
    return EXIT_OK;
  } finally {
    await store.close();
  }
}

/**
 * Opens the store of suspended programs. A server can have it open at the same time.
 *
 * @throws {ConfigError} if the config is invalid.
 * @throws {UsageError} if the config stores no programs, or the file cannot be opened.
 */
async function openPrograms(place: ProgramsPlace, readOnly: boolean): Promise<SqliteSuspensionStore> {
  const file = "file" in place ? place.file : await fileOf(place.config);
  if (!existsSync(file)) {
    throw new UsageError(
      shown`the store of programs '${file}' does not exist: a server creates it when it starts with 'sessions.programs' in its config`,
    );
  }
  try {
    if (readOnly) return new SqliteSuspensionStore(file, { readOnly });
    // What is not a store must not become one.
    new SqliteSuspensionStore(file, { readOnly: true }).close();
    return new SqliteSuspensionStore(file);
  } catch (error) {
    if (error instanceof SuspensionStoreError) throw new UsageError(shown`${error.message}`);
    throw error;
  }
}

async function fileOf(config: string): Promise<string> {
  const problems: ConfigError["problems"][number][] = [];
  const { programs } = loadSessions(await readConfigFile(config), problems);
  if (problems.length > 0) throw new ConfigError(problems);
  if (programs === undefined) throw new UsageError(shown`the config '${config}' has no 'sessions.programs'`);
  return programs.storeFile;
}

/**
 * Finds a program by its id, or by the beginning of it.
 *
 * @throws {UsageError} if it does not exist, or several ids begin like this.
 */
function findProgram(programs: readonly ProgramHeader[], id: string): ProgramHeader {
  const [found, other] = programs.filter((program) => id !== "" && program.id.startsWith(id));
  if (found === undefined) throw new UsageError(shown`there is no suspended program '${id}'`);
  if (other !== undefined) throw new UsageError(shown`several suspended programs begin with '${id}'`);
  return found;
}
