import { pageOf } from "../http/page.ts";
import { ToolList } from "../listing/tool-list.ts";
import type { SessionService } from "../service.ts";
import type { App } from "./session-app.ts";

/** The most tools of a page. */
const MAX_TOOLS = 500;

/** Describes the tools of the server to people. */
export function toolRoutes(app: App, { inspected }: SessionService): void {
  const list = new ToolList(inspected);

  app.get("/v1/console/tools", async ({ env, req, json }) => {
    const { limit } = pageOf(req.query(), MAX_TOOLS);
    return json(await list.page(req.query("after"), limit, env.closed));
  });
}
