import type { ToolCallFact } from './facts.ts';
import { type Line, toAssistantLine, toMessageId, toRequestId, toToolUseId, toUsageLine } from './lines.ts';
import type { FleetLedger, PlannedResponse, PlannedTool, SessionPlan } from './plan.ts';
import { type Scribe, type SessionState, toSessionId } from './session-state.ts';

const MS_BETWEEN_LINES = 250;

interface StartedCall {
  tool: PlannedTool;
  fact: ToolCallFact;
}

/**
 * Writes an API response as streaming leaves it, with one line for each block, where only the last has the final count;
 * then the results of its tools.
 */
export function writeResponse(
  ledger: FleetLedger,
  plan: SessionPlan,
  state: SessionState,
  scribe: Scribe,
  response: PlannedResponse,
): void {
  const { model, usage, text, tools = [], isUnfinalised = false, isSidechain = false } = response;
  const number = ledger.nextNumber();
  const isSubagent = isSidechain || plan.agentId !== undefined;
  const fact = scribe.noteResponse(toMessageId(number), response, { isSubagent, agentId: plan.agentId });
  if (state.awaitsAnswer && !isSidechain) {
    state.fact.turnCount++;
    state.awaitsAnswer = false;
  }
  const calls: StartedCall[] = [];
  const writeBlock = (block: Line, index: number): void => {
    const isFinal = index === tools.length && !isUnfinalised;
    const output = isFinal || isUnfinalised ? usage.output : Math.min(usage.output, 1 + (index % 3));
    const line = toAssistantLine({
      messageId: toMessageId(number),
      requestId: toRequestId(number),
      model,
      block,
      usage: toUsageLine(usage, output),
      stopReason: isFinal ? 'end_turn' : null,
    });
    scribe.write(line, { isSidechain, ...(index === 0 && { message: { isUser: false, model } }) });
  };
  writeBlock({ type: 'text', text }, 0);
  let writtenBytes = Buffer.byteLength(text);
  for (const [index, tool] of tools.entries()) {
    state.nowMs += MS_BETWEEN_LINES;
    const id = toToolUseId(ledger.nextNumber());
    writeBlock({ type: 'tool_use', id, name: tool.name, input: tool.input }, index + 1);
    const call = toCallFact(id, tool, { sessionId: toSessionId(plan), model, atMs: state.nowMs, isSubagent });
    writtenBytes += call.inputBytes;
    ledger.toolCalls.set(id, call);
    state.fact.toolUseCount++;
    calls.push({ tool, fact: call });
  }
  // The documented estimate of four bytes a token, and no less than the placeholder.
  if (isUnfinalised) fact.estimatedOutput = Math.max(usage.output, Math.floor(writtenBytes / 4));
  for (const call of calls) writeResult(state, scribe, call, isSidechain);
}

function writeResult(state: SessionState, scribe: Scribe, { tool, fact }: StartedCall, isSidechain: boolean): void {
  const { result } = tool;
  if (result === undefined) return;
  const { text, afterMs, isError = false, isDenied = false, agentId } = result;
  state.nowMs = Math.max(state.nowMs, fact.atMs + afterMs);
  const content = [{ tool_use_id: fact.key, type: 'tool_result', content: text, ...(isError && { is_error: true }) }];
  const line = { type: 'user', message: { role: 'user', content }, ...(agentId && { toolUseResult: { agentId } }) };
  scribe.write(line, { isSidechain, message: { isUser: true, model: null } });
  fact.durationMs = state.nowMs - fact.atMs;
  fact.isError = isError;
  fact.isDenied = isDenied;
  fact.outputBytes = Buffer.byteLength(text);
  fact.subagentSessionId = agentId === undefined ? null : `${fact.sessionId}:${agentId}`;
}

function toCallFact(
  key: string,
  { name, input, facts = {} }: PlannedTool,
  origin: Pick<ToolCallFact, 'sessionId' | 'model' | 'atMs' | 'isSubagent'>,
): ToolCallFact {
  return {
    key,
    ...origin,
    name,
    mcpServer: null,
    program: null,
    filePath: null,
    subagentType: null,
    subagentSessionId: null,
    skill: null,
    ...facts,
    durationMs: null,
    isError: null,
    isDenied: false,
    inputBytes: Buffer.byteLength(JSON.stringify(input)),
    outputBytes: null,
  };
}
