// Tests the two tools of team members with the real mail.
import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ResultPart } from "../../../protocol/tree/node.ts";
import type { Report } from "../../../protocol/team/team.ts";
import { deliveryText } from "../../team/mail/classify-mail.ts";
import { openMail } from "../../team/mail/mail.ts";
import { callTool, type ToolCallContext } from "./call-tool.ts";
import { teamTools } from "./team-tools.ts";

test("send_message and report post mail, return the reason of a refusal, and do not exist outside of a team", async () => {
  const directory = mkdtempSync(join(tmpdir(), "skein-team-tools-"));
  mkdirSync(join(directory, "shared"));
  const reports: Report[] = [];
  const member = (key: string) => ({
    id: `agent_${key}_1`,
    key,
    role: "qa",
    suffix: null,
    instance: 1,
    workspace: join(directory, "shared"),
  });
  const mail = await openMail({
    directory,
    team: "t",
    members: [member("a"), member("b")],
    recorded: [],
    hasEnded: () => false,
    record: async (event) => {
      if (event.event === "agent_reported") reports.push(event.report);
    },
    deliver: async () => "waits",
    warn: () => {},
    onFault: (error) => {
      throw error;
    },
  });
  const call = async (name: string, input: Record<string, unknown>, team = true) => {
    const context = team
      ? { team: { post: async (value: Record<string, unknown>) => deliveryText(await mail.post("agent_a_1", value)) } }
      : {};
    const callContext = { tools: team ? teamTools : [], context, path: [], emit: () => {} } as unknown as ToolCallContext;
    const result = await callTool({ kind: "call", id: "c", name, input }, callContext);
    const [part] = "node" in result ? (result.node.parts as ResultPart[]) : [];
    return `${part?.isError ? "✗" : "✓"} ${part?.text}`;
  };
  try {
    const [first, second] = await Promise.all(["1", "2"].map((body) => call("send_message", { to: "b", body, kind: "question" })));
    expect([first, second]).toEqual(["1", "2"].map(() => expect.stringMatching(/^✓ message [0-9a-f]{12} sent to agent_b_1$/)));
    expect(mail.pendingMessages("agent_b_1")).toMatchObject([
      { from: "agent_a_1", body: "1", kind: "question" },
      { from: "agent_a_1", body: "2" },
    ]);
    expect(await call("send_message", { to: "nobody", body: "x" })).toBe('✗ "nobody": no member has this address; the members are a, b');
    expect(await call("send_message", { to: "b", body: "x", attachments: ["/etc/passwd"] })).toContain('✗ "/etc/passwd" is outside');
    expect(await call("send_message", { to: "b" })).toBe('✗ send_message: "body" is missing');
    expect(await call("report", { type: "status", text: "half", progress: "0.5" })).toBe("✓ reported");
    expect(await call("report", { type: "complete", text: "done", result: "success" })).toBe("✓ reported");
    expect(await call("report", { type: "complete", text: "done", result: "fine" })).toBe('✗ "result" must be success or failure');
    expect(await call("report", { type: "joke", text: "x" })).toContain(
      "its type is not one of a report: status, artifact, dependency, complete",
    );
    expect(await call("report", { type: "status", text: "x" }, false)).toContain("✗ unknown tool: report");
    expect(reports).toEqual([
      { type: "status", message: "half", progress: 0.5 },
      { type: "complete", result: "success", summary: "done", outputs: [] },
    ]);
    expect(JSON.stringify(teamTools).length).toBeLessThan(1_000);
  } finally {
    await mail.close();
    rmSync(directory, { recursive: true });
  }
});
