import { describe, expect, test } from "vitest";
// Inside: reads the mounts of other machines, with cgroups of version 1, of version 2 or none.
import { candidatesFor } from "../../../src/sandboxes/process/cgroups.ts";

const V1 = `35 30 0:31 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
36 30 0:32 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
37 30 0:33 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`;
const V2 = "30 23 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
const BOUND = "30 23 0:27 /docker/c1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

describe("the places for cgroups", () => {
  test("are the own cgroup of a controller with version 1", () => {
    expect(candidatesFor("memory", "8:pids:/\n4:memory:/a:b\n", V1)).toEqual([
      { version: 1, directory: "/sys/fs/cgroup/memory/a:b" },
    ]);
  });

  test("are the own cgroup and the one above with version 2", () => {
    expect(candidatesFor("pids", "0::/user.slice/agent.service/main\n", V2)).toEqual([
      { version: 2, directory: "/sys/fs/cgroup/user.slice/agent.service/main" },
      { version: 2, directory: "/sys/fs/cgroup/user.slice/agent.service" },
    ]);
  });

  test("are found below the part of the hierarchy that is mounted, and only there", () => {
    expect(candidatesFor("pids", "0::/docker/c1\n", BOUND)[0]).toEqual({
      version: 2,
      directory: "/sys/fs/cgroup",
    });
    expect(candidatesFor("pids", "0::/docker/c2\n", BOUND)).toEqual([]);
  });

  test("are none where no hierarchy is mounted", () => {
    expect(candidatesFor("memory", "0::/\n", "22 1 0:20 / /proc rw - proc proc rw\n")).toEqual([]);
  });
});
