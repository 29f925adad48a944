import { expect, test } from "bun:test";
import type { ResultPart } from "../../protocol/tree/node.ts";
import { diffsOfPatch } from "./diff-content.ts";
import { planEntries } from "./plan-entries.ts";
import { kindOf, locationsOf, resultContent, textContent, titleOf, toolCallId } from "./tool-calls.ts";

const result = (fields: Partial<ResultPart>): ResultPart => ({ kind: "result", call: "1", name: "x", text: "", isError: false, ...fields });

test("the kinds of all agents' tools are known by their names", () => {
  const names = {
    execute: ["bash", "Bash", "command_execution", "run_shell_command", "exec_command"],
    edit: ["edit", "write", "Edit", "MultiEdit", "Write", "NotebookEdit", "file_change", "replace", "write_file", "apply_patch"],
    read: ["read", "Read", "read_file", "view"],
    search: ["Grep", "Glob", "search_file_content", "list_directory", "ls"],
    fetch: ["WebFetch", "web_fetch", "WebSearch"],
    think: ["TodoWrite", "todo_list", "ask_user"],
    other: ["spawn_session", "Task", "mcp"],
  };
  for (const [kind, tools] of Object.entries(names)) for (const name of tools) expect(`${name} ${kindOf(name)}`).toBe(`${name} ${kind}`);
});

test("a title is the command, or the tool and its file, in one line", () => {
  expect(titleOf("bash", { command: "ls\n-l" })).toBe("ls -l");
  expect(titleOf("Read", { file_path: "/p/a.ts" })).toBe("Read /p/a.ts");
  expect(titleOf("spawn_session", {})).toBe("spawn_session");
});

test("locations are absolute, of one file or of all changed ones", () => {
  expect(locationsOf({ path: "a.ts", offset: 7 }, "/p")).toEqual([{ path: "/p/a.ts", line: 7 }]);
  expect(locationsOf({ changes: [{ path: "/p/a", kind: "add" }, { path: "b" }] }, "/p")).toEqual([{ path: "/p/a" }, { path: "/p/b" }]);
  expect(locationsOf({ command: "ls" }, "/p")).toEqual([]);
});

test("a unified diff becomes one diff for each hunk, with the line of its first change", () => {
  const patch =
    "--- a.ts\n+++ a.ts\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n@@ -10 +10,2 @@\n-ten\n+10\n+11\n[... 3 more lines of the diff ...]";
  expect(diffsOfPatch(patch)).toEqual([
    { path: "a.ts", oldText: "one\ntwo\nthree", newText: "one\n2\nthree", line: 2 },
    { path: "a.ts", oldText: "ten", newText: "10\n11", line: 10 },
  ]);
  expect(diffsOfPatch("--- /dev/null\n+++ b.ts\n@@ -0,0 +1 @@\n+b")).toEqual([{ path: "b.ts", oldText: null, newText: "b", line: 1 }]);
  expect(diffsOfPatch("plain text")).toEqual([]);
});

test("edits of other agents become diffs by their input, and a failed edit shows its error", () => {
  const call = { name: "Edit", input: { file_path: "/p/a.ts", old_string: "a", new_string: "b" } };
  expect(resultContent(call, result({ name: "Edit", text: "ok" }), "/p")).toEqual({
    content: [{ type: "diff", path: "/p/a.ts", oldText: "a", newText: "b" }],
    locations: [{ path: "/p/a.ts" }],
  });
  const many = {
    name: "MultiEdit",
    input: {
      file_path: "/p/a",
      edits: [
        { old_string: "a", new_string: "b" },
        { old_string: "c", new_string: "d" },
      ],
    },
  };
  expect(resultContent(many, result({ name: "MultiEdit" }), "/p").content).toHaveLength(2);
  const written = { name: "Write", input: { file_path: "/p/n", content: "new" } };
  expect(resultContent(written, result({ name: "Write" }), "/p").content).toMatchObject([{ type: "diff", oldText: null, newText: "new" }]);
  const failed = resultContent(call, result({ name: "Edit", text: "no match", isError: true }), "/p");
  expect(failed).toEqual({ content: [{ type: "content", content: { type: "text", text: "```\nno match\n```" } }] });
});

test("output with fences of its own gets a longer fence, and images are kept", () => {
  expect(textContent("bash", "```\nx\n```\n")).toMatchObject([{ content: { text: "````\n```\nx\n```\n````" } }]);
  const content = resultContent(undefined, result({ name: "read", images: [{ mime: "image/png", base64: "AA==" }] }), "/p").content;
  expect(content).toEqual([{ type: "content", content: { type: "image", mimeType: "image/png", data: "AA==" } }]);
});

test("the same call id in two turns names two calls", () => {
  const [one, two] = ["01a1ef7b-a59c-776b-b08f-503ac92e055a", "01a1ef7b-a59c-776b-b08f-503ac92e055b"];
  expect(toolCallId(one, "1")).not.toBe(toolCallId(two, "1"));
});

test("to-do lists of the agents become plans, and other calls do not", () => {
  expect(planEntries("TodoWrite", { todos: [{ content: "a", status: "in_progress", priority: "high" }] })).toEqual([
    { content: "a", status: "in_progress", priority: "high" },
  ]);
  expect(planEntries("todo_list", { items: [{ text: "a", completed: true }, { text: "b", completed: false }, {}] })).toEqual([
    { content: "a", status: "completed", priority: "medium" },
    { content: "b", status: "pending", priority: "medium" },
  ]);
  expect(planEntries("update_plan", { plan: [{ step: "a", status: "done" }] })).toMatchObject([{ content: "a", status: "completed" }]);
  expect(planEntries("bash", { items: [] })).toBeNull();
  expect(planEntries("TodoWrite", { todos: "x" })).toBeNull();
});
