import { execFileSync, spawn } from "node:child_process";
import { createServer } from "node:https";
import { join } from "node:path";
import { listen, SECURE_TEST } from "../../egress/servers.ts";

/** A repository that is served over HTTPS, by git's own server. */
export interface GitServer {
  readonly url: string;
  readonly origin: string;
  /** Runs git in the repository that is served. */
  readonly git: (...args: string[]) => string;
  /** The headers `Authorization` of the requests. */
  readonly authorizations: Set<string | undefined>;
}

/**
 * Serves an empty bare repository for `secure.test`, which anybody may push to.
 *
 * @param folder Where it is made.
 */
export async function serveRepository(folder: string): Promise<GitServer> {
  const repository = join(folder, "served.git");
  const git = (...args: string[]): string =>
    execFileSync("git", ["-C", repository, ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  execFileSync("git", ["init", "--quiet", "--bare", "--initial-branch=main", repository]);
  git("config", "http.receivepack", "true");
  const authorizations = new Set<string | undefined>();
  const server = createServer(SECURE_TEST, (request, response) => {
    authorizations.add(request.headers.authorization);
    const [path = "", query = ""] = (request.url ?? "").split("?");
    const backend = spawn("git", ["http-backend"], {
      env: {
        ...process.env,
        GIT_PROJECT_ROOT: folder,
        GIT_HTTP_EXPORT_ALL: "1",
        PATH_INFO: path,
        QUERY_STRING: query,
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: request.headers["content-type"] ?? "",
        ...(request.headers["content-encoding"] && {
          HTTP_CONTENT_ENCODING: request.headers["content-encoding"],
        }),
      },
      stdio: ["pipe", "pipe", "ignore"],
    });
    request.pipe(backend.stdin);
    const chunks: Buffer[] = [];
    backend.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
    backend.once("close", () => {
      const answer = Buffer.concat(chunks);
      const end = answer.indexOf("\r\n\r\n");
      for (const line of answer.toString("latin1", 0, end).split("\r\n")) {
        const [name = "", value = ""] = line.split(": ");
        if (name === "Status") response.statusCode = Number.parseInt(value, 10);
        else response.setHeader(name, value);
      }
      response.end(answer.subarray(end + 4));
    });
  });
  const origin = `https://secure.test:${await listen(server)}`;
  return { url: `${origin}/served.git`, origin, git, authorizations };
}
