import { execFile } from "node:child_process";
import { cp, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A git repository with the files of `project`, in a temporary directory that ends with it. */
export class Repository implements AsyncDisposable {
  readonly #parent: string;
  /** The absolute path. */
  readonly path: string;

  private constructor(parent: string) {
    this.#parent = parent;
    this.path = join(parent, "shop");
  }

  static async create(): Promise<Repository> {
    const parent = await realpath(await mkdtemp(join(tmpdir(), "sandgate-coding-agent-")));
    const repository = new Repository(parent);
    // Beside the repository, where the agent has no business.
    await writeFile(join(parent, "orders.csv"), "customer,total\nAnn,50\n");
    await cp(join(import.meta.dirname, "project"), repository.path, { recursive: true });
    await repository.git("init", "--quiet", "--initial-branch=main");
    await repository.git("add", "--all");
    const author = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"];
    await repository.git(...author, "commit", "--quiet", "--message=Compute the cost of shipping");
    return repository;
  }

  /** Runs git outside of any sandbox: this is the example's own repository. Returns what it prints. */
  async git(...args: readonly string[]): Promise<string> {
    const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
    const { stdout } = await run("git", ["--no-pager", ...args], { cwd: this.path, env });
    return stdout.trimEnd();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#parent, { recursive: true, force: true });
  }
}
