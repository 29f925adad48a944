// Lints examples/fleet: each file has the parts that its service manager needs, skein accepts each command of it, and no file
// contains a secret.
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryHome } from "../../support/temporary-home.ts";

const directory = join(import.meta.dir, "..", "..", "..", "examples", "fleet");
const textOf = (name: string): string => readFileSync(join(directory, name), "utf8");

type Fields = Record<string, string[]>;

/** The sections of a unit file. Throws for a line that systemd would ignore with a warning. */
function parseUnit(text: string): Record<string, Fields> {
  const sections: Record<string, Fields> = {};
  let current: Fields | null = null;
  for (const [index, line] of text.split("\n").entries()) {
    if (line === "" || line.startsWith("#")) continue;
    const header = /^\[(Unit|Service|Install)\]$/.exec(line);
    const field = /^([A-Z][A-Za-z]+)=(.+)$/.exec(line);
    if (header !== null) current = sections[header[1]!] = {};
    else if (field !== null && current !== null) (current[field[1]!] ??= []).push(field[2]!);
    else throw new Error(`line ${index + 1} is no field: ${line}`);
  }
  return sections;
}

type Service = {
  image: string;
  command?: string[];
  environment: Record<string, string>;
  network_mode?: string;
  depends_on?: Record<string, { condition: string }>;
  stop_grace_period?: string;
};
type Compose = { services: Record<string, Service>; volumes: Record<string, unknown> };

type Named = { name: string };
type Container = Named & { command: string[]; volumeMounts: Named[]; envFrom: { secretRef: Named }[]; env: (Named & { value: string })[] };
type Pod = { containers: Container[]; volumes: Named[]; terminationGracePeriodSeconds: number; automountServiceAccountToken: boolean };
type Labels = Record<string, string>;
type Deployment = {
  apiVersion: string;
  kind: string;
  spec: { replicas: number; selector: { matchLabels: Labels }; template: { metadata: { labels: Labels }; spec: Pod } };
};

const compose = Bun.YAML.parse(textOf("compose.yaml")) as Compose;
const deployment = Bun.YAML.parse(textOf("deployment.yaml")) as Deployment;
const unit = parseUnit(textOf("skein-worker.service"));

test("the unit runs one worker as a user of its own, starts it again, and lets it put its runs back", () => {
  const service = unit["Service"]!;
  expect(Object.keys(unit)).toEqual(["Unit", "Service", "Install"]);
  expect(service["ExecStart"]).toEqual(["/usr/local/bin/skein worker start --slots 4 --label linux"]);
  expect(service["User"]).toEqual(["skein"]);
  expect([service["Restart"], service["KillMode"], service["KillSignal"]]).toEqual([["always"], ["mixed"], ["SIGTERM"]]);
  expect(Number(service["TimeoutStopSec"]![0])).toBeGreaterThanOrEqual(30);
  expect(unit["Install"]).toEqual({ WantedBy: ["multi-user.target"] });
});

test("the compose file starts workers after the tables are there, on the database's own network", () => {
  const { database, setup, worker } = compose.services;
  expect(Object.keys(compose.services)).toEqual(["database", "setup", "worker"]);
  expect(Object.keys(compose.volumes)).toEqual(["database"]);
  expect(setup!.depends_on).toEqual({ database: { condition: "service_healthy" } });
  expect(worker!.depends_on).toEqual({ setup: { condition: "service_completed_successfully" } });
  for (const service of [setup!, worker!]) {
    expect(service.network_mode).toBe("service:database");
    expect(service.environment["FLEET_URL"]).toStartWith("postgres://skein:${POSTGRES_PASSWORD}@127.0.0.1/");
  }
  expect(database!.image).toMatch(/^postgres:\d+$/);
  expect(worker!.stop_grace_period).toBe("60s");
});

test("the Deployment selects its own pods, mounts what it declares, and takes every secret from the cluster", () => {
  expect([deployment.apiVersion, deployment.kind]).toEqual(["apps/v1", "Deployment"]);
  const { selector, template } = deployment.spec;
  expect(template.metadata.labels).toMatchObject(selector.matchLabels);
  const { containers, volumes, ...pod } = template.spec;
  expect(pod).toMatchObject({ automountServiceAccountToken: false, terminationGracePeriodSeconds: 60 });
  expect(containers).toHaveLength(1);
  const [container] = containers;
  expect(container!.volumeMounts.map(({ name }) => name).toSorted()).toEqual(volumes.map(({ name }) => name).toSorted());
  expect(container!.envFrom).toEqual([{ secretRef: { name: "skein-worker" } }]);
  expect(container!.env.map(({ name }) => name)).toEqual(["SKEIN_HOME"]);
});

test("skein accepts every command of the examples", async () => {
  using skein = temporaryHome({ FLEET_URL: "postgres://tester@127.0.0.1:1/none" });
  const scripts = [
    ...unit["Service"]!["ExecStart"]!.map((line) => line.replace("/usr/local/bin/", "")),
    ...Object.values(compose.services).flatMap(({ command }) => (command === undefined ? [] : [command.at(-1)!.replaceAll("$$", "$")])),
    ...deployment.spec.template.spec.containers.map(({ command }) => command.at(-1)!),
  ];
  const commands = scripts.flatMap((script) => script.split(" && ").map((command) => command.replace(/^exec /, "")));
  expect(commands.length).toBe(7);
  await skein.run(["config", "set", "fleet.url", "$FLEET_URL"]);
  for (const command of commands) {
    const [program, ...args] = command.replaceAll("'", "").split(" ");
    const { code, err } = await skein.run(args);
    // A command that is understood gets as far as the database, which is not there.
    expect([program, args, code, args[0] === "config" ? "" : err]).toEqual([
      "skein",
      args,
      args[0] === "config" ? 0 : 6,
      args[0] === "config" ? "" : expect.stringContaining("can't be reached"),
    ]);
  }
}, 60_000);

test("no example contains a password or a key", () => {
  for (const name of readdirSync(directory)) {
    const passwords = [...textOf(name).matchAll(/:\/\/[^:@\s]+:([^@\s]+)@/g)].map(([, password]) => password);
    expect([name, passwords.filter((text) => text !== "${POSTGRES_PASSWORD}" && text !== "...")]).toEqual([name, []]);
    expect(textOf(name)).not.toMatch(/sk-[a-z0-9]/i);
  }
});
