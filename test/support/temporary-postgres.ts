// Starts Debian's Postgres in a temporary directory on a free port of 127.0.0.1, as a user without privileges.
// Needs Debian's postgresql, so only tests of the tier `real` and benchmarks may use it.
import { chmodSync, chownSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SQL } from "bun";

export type TemporaryPostgres = {
  port: number;
  /** The directory of the server: its data, its unix socket and its log. */
  directory: string;
  /** Connects through the unix socket, also to a server in another network. */
  connect: (database: string) => SQL;
  /** Creates an empty database. Returns its URL. */
  createDatabase: (options?: string) => Promise<string>;
  /** `immediate` is a crash of the server. */
  stop: (how?: "fast" | "immediate") => Promise<void>;
  /** Starts the server again after `stop`, on the same port. */
  start: () => Promise<void>;
  /** Stops the server and removes its directory. */
  remove: () => Promise<void>;
};

const isRoot = process.getuid?.() === 0;

/** A network of its own, whose clients must encrypt and have the password. */
export type ServerNetwork = {
  /** The command that enters the network. */
  enter: string[];
  address: string;
  password: string;
};

/** `settings` are those of postgresql.conf, such as `fsync`. */
export async function startPostgres(
  settings: Record<string, string> = {},
  network: ServerNetwork | null = null,
): Promise<TemporaryPostgres> {
  const root = mkdtempSync(join(tmpdir(), "skein-postgres-"));
  if (isRoot) chownSync(root, idOf("u"), idOf("g"));
  chmodSync(root, 0o755);
  const data = join(root, "data");
  const initdb = run(root, [program("initdb"), "-D", data, "-A", "trust", "-U", "tester", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8"]);
  if ((await initdb.exited) !== 0) throw new Error("initdb failed");
  let server: Bun.Subprocess | null = null;
  let port = 0;
  if (network !== null) await requireTls(root, network);
  const listen = network === null ? "127.0.0.1" : network.address;
  const tls = network === null ? {} : { ssl: "on", ssl_cert_file: join(root, "server.crt"), ssl_key_file: join(root, "server.key") };
  const options = Object.entries({ ...settings, ...tls }).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const startOn = (wanted: number) => {
    port = wanted;
    server = run(root, [program("postgres"), "-D", data, "-k", root, "-h", listen, "-p", String(port), ...options], network?.enter);
  };
  const connect = (database: string) => new SQL({ path: join(root, `.s.PGSQL.${port}`), username: "tester", database, max: 1 });
  const urlOf = (database: string) =>
    network === null
      ? `postgres://tester@127.0.0.1:${port}/${database}`
      : `postgres://tester:${network.password}@${listen}:${port}/${database}?sslmode=verify-full&sslrootcert=${join(root, "server.crt")}`;
  // Another process may take a port that was free a moment ago. The server then ends at once and gets another port.
  const start = async () => {
    const deadline = performance.now() + 60_000;
    do {
      if (performance.now() > deadline) throw new Error("the server did not start");
      if (server === null || server.exitCode !== null) startOn(port === 0 || server !== null ? await freePort() : port);
      await Bun.sleep(50);
    } while (!(await answers(connect("postgres"))));
  };
  const stop = async (how: "fast" | "immediate" = "fast") => {
    server?.kill(how === "fast" ? "SIGINT" : "SIGQUIT");
    await server?.exited;
    server = null;
  };
  await start();
  let databases = 0;
  return {
    get port() {
      return port;
    },
    directory: root,
    connect,
    async createDatabase(options = "") {
      databases += 1;
      const name = `d${databases}`;
      await using sql = connect("postgres");
      await sql.unsafe(`create database ${name} ${options}`);
      if (network !== null) await sql.unsafe(`alter role tester password '${network.password}'`);
      return urlOf(name);
    },
    stop,
    start,
    async remove() {
      await stop("immediate");
      rmSync(root, { recursive: true, force: true });
    },
  };
}

async function answers(sql: SQL): Promise<boolean> {
  try {
    await sql`select 1`;
    return true;
  } catch {
    return false;
  } finally {
    await sql.close();
  }
}

/** A certificate of its own, and passwords for every connection that is not a unix socket. */
async function requireTls(root: string, { address }: ServerNetwork): Promise<void> {
  const [key, certificate] = [join(root, "server.key"), join(root, "server.crt")];
  const name = ["-subj", `/CN=${address}`, "-addext", `subjectAltName=IP:${address}`];
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
  const made = run(root, ["openssl", "req", "-x509", "-nodes", ...curve, "-days", "2", "-keyout", key, "-out", certificate, ...name]);
  if ((await made.exited) !== 0) throw new Error("openssl made no certificate");
  await Bun.write(join(root, "data", "pg_hba.conf"), "local all all trust\nhostssl all all all scram-sha-256\n");
}

/** The server refuses to run as root. */
function run(cwd: string, command: string[], enter: string[] = []): Bun.Subprocess {
  const user = isRoot ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] : [];
  return Bun.spawn([...enter, ...user, ...command], { cwd, stdin: "ignore", stdout: "ignore", stderr: Bun.file(join(cwd, "server.log")) });
}

function program(name: string): string {
  const [path] = [...new Bun.Glob(`/usr/lib/postgresql/*/bin/${name}`).scanSync({ absolute: true })];
  return path ?? name;
}

function idOf(kind: "u" | "g"): number {
  return Number(Bun.spawnSync(["id", `-${kind}`, "postgres"]).stdout.toString());
}

async function freePort(): Promise<number> {
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  const { port } = server;
  await server.stop(true);
  return port as number;
}
