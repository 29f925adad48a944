// Makes the answer to a request from the script, independent of the wire. Pure.
import type { JsonObject } from "./json.ts";
import { callId, type ScriptPosition } from "./position.ts";
import type { ScriptedAnswer, AnswerCall, DeclaredTool, ParsedRequest } from "./wires/wire.ts";
import type { ScriptCall, ServerFault, Script, ScriptStep, TokenCounts } from "./script.ts";
import { hasShellTool, translateCall } from "./shell-tools.ts";
import { tokensForBytes } from "./cache.ts";

/** True for requests beside the conversation, such as titles: the script calls tools, and the request declares none of them. */
export function isSideRequest(script: Script, tools: DeclaredTool[]): boolean {
  const names = script.steps.flatMap((step) => step.calls ?? []).map((call) => call.name ?? "shell");
  if (names.length === 0 || hasShellTool(tools)) return false;
  return !tools.some((tool) => names.includes(tool.name));
}

export function stepAt(script: Script, index: number): ScriptStep {
  return script.steps[index] ?? { text: script.final };
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
  const { step, fault, parsed } = request;
  const isEmpty = fault?.type === "empty";
  const isGarbage = fault?.type === "garbage-args";
  const calls = isEmpty
    ? []
    : (step.calls ?? []).map((call, index) => answerCall(call, callId(request.position, index), parsed.tools, isGarbage));
  const text = isEmpty ? "" : (step.text ?? "");
  const thinking = isEmpty ? "" : (step.thinking ?? "");
  const output = [thinking, text, ...calls.map((call) => call.inputText)].join("");
  const usage = { ...request.prompt, output: tokensForBytes(Buffer.byteLength(output)), ...step.usage };
  const malformed = isGarbage && calls.length > 0;
  return { model: request.model, number: request.number, thinking, text, calls, usage, reportUsage: parsed.wantsUsage, malformed };
}

function answerCall(call: ScriptCall, id: string, tools: DeclaredTool[], isGarbage: boolean): AnswerCall {
  const translated = translateCall(call.name ?? "shell", call.input, tools);
  const inputText = typeof translated.input === "string" ? translated.input : JSON.stringify(translated.input);
  return { id, ...translated, inputText: isGarbage ? garbageOf(call.input) : inputText };
}

function garbageOf(input: JsonObject): string {
  return `${JSON.stringify(input).slice(0, -2)}, oops`;
}
