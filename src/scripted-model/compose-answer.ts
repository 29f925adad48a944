// Makes the answer to a request from the script, independent of the wire. Pure.
import { callId, type ScriptPosition } from "./position.ts";
import type { ScriptedAnswer, AnswerCall, DeclaredTool, ParsedRequest } from "./wires/wire.ts";
import type { ScriptCall, ServerFault, Script, ScriptStep, TokenCounts } from "./script.ts";
import { hasShellTool, translateCall } from "./shell-tools.ts";
import { tokensOf } from "./cache.ts";

/** True for requests beside the conversation, such as titles: the script calls tools, and the request declares none of them. */
export function isSideRequest(script: Script, tools: DeclaredTool[]): boolean {
  const names = script.steps.flatMap((step) => step.calls ?? []).map((call) => call.name ?? "shell");
  if (names.length === 0 || hasShellTool(tools)) return false;
  return !tools.some((tool) => names.includes(tool.name));
}

export function composeAnswer(request: {
  model: string;
  number: number;
  parsed: ParsedRequest;
  position: ScriptPosition;
  step: ScriptStep;
  fault: ServerFault | null;
  prompt: Omit<TokenCounts, "output">;
}): ScriptedAnswer {
  const { model, number, step, fault, parsed, position } = request;
  const { text = "", thinking = "", calls: scripted = [] } = fault?.type === "empty" ? {} : step;
  const isGarbage = fault?.type === "garbage-args";
  const calls = scripted.map((call, index) => answerCall(call, callId(position, index), parsed.tools, isGarbage));
  const output = [thinking, text, ...calls.map((call) => call.inputText)].join("");
  const usage = { ...request.prompt, output: tokensOf(output), ...step.usage };
  const malformed = isGarbage && calls.length > 0;
  return { model, number, thinking, text, calls, usage, reportUsage: parsed.requestsUsage, malformed };
}

function answerCall(call: ScriptCall, id: string, tools: DeclaredTool[], isGarbage: boolean): AnswerCall {
  const translated = translateCall(call.name ?? "shell", call.input, tools);
  const inputText = typeof translated.input === "string" ? translated.input : JSON.stringify(translated.input);
  const garbage = `${JSON.stringify(call.input).slice(0, -2)}, oops`;
  return { id, ...translated, inputText: isGarbage ? garbage : inputText };
}
