import { invalidPolicy } from "../http/refusals.ts";
import type { SessionService } from "../service.ts";
import type { App } from "./session-app.ts";

/** The media types of a policy: JSON is YAML too. */
const POLICY_MEDIA_TYPES = ["application/yaml", "application/json"];

/** What admins do: replacing the policy, pausing, and resuming. */
export function adminRoutes(app: App, { admin }: SessionService): void {
  app.put("/v1/policy", async ({ env, json }) => {
    const { problems, revision } = await admin.replacePolicy(
      await env.readText(POLICY_MEDIA_TYPES),
      env.client,
      env.revoked,
    );
    if (revision === undefined) throw invalidPolicy(problems);
    return json({ revision, warnings: problems });
  });

  for (const [path, paused] of [
    ["/v1/pause", true],
    ["/v1/resume", false],
  ] as const) {
    app.post(path, ({ env, json }) => {
      admin.setPaused(paused, env.client);
      return json({ paused });
    });
  }
}
