import { toContentBlocks } from '../../messages/content-blocks.ts';
import { readObject, readText } from '../../records/fields.ts';
import type { JsonObject } from '../../rows.ts';
import { classifyLine } from '../classify-line.ts';
import { toBooleanField, toRequiredText, toTextField, toTextListField } from '../coerce-fields.ts';
import type { LiveLine } from '../live-line-decoder.ts';
import type { StreamReader } from '../stream-reader.ts';
import { type ClaudeState, createClaudeState, toAssistantBase } from './claude-state.ts';
import { createLineContext, type LineContext } from './line-context.ts';
import { isKnownType } from './line-shape.ts';
import { toControlPrompt, toDenialPrompt } from './prompts.ts';
import { giveBlock, readAssistant, readUser } from './read-message.ts';
import { readResult } from './read-result.ts';
import { readStreamEvent } from './read-stream-event.ts';
import type { LineEvent, StreamEvent } from './stream-event.ts';

const NEWEST_KNOWN_MAJOR_VERSION = 2;

/**
 * Turns the lines of `claude -p --output-format stream-json`, and of Amp, which writes the same shape, into events.
 * Total, synchronous and bounded. Messages, blocks and usage are read by the code that reads transcripts.
 */
export function createClaudeReader(now: () => number): StreamReader<StreamEvent> {
  const state = createClaudeState();
  let lastEvent: LineEvent = { timestampMs: 0, lineNumber: 0, isLarge: false };
  let isVersionKnown = false;

  const onVersion = (version: string | null, { warn }: LineContext): void => {
    if (isVersionKnown || version === null) return;
    isVersionKnown = true;
    if (Number.parseInt(version, 10) <= NEWEST_KNOWN_MAJOR_VERSION) return;
    warn('unsupported_version', `Newer than version ${NEWEST_KNOWN_MAJOR_VERSION}: read as well as can be`);
  };

  const readInit = (line: JsonObject, context: LineContext): void => {
    const { event, report } = context;
    const sessionId = toRequiredText(line.session_id, 'session_id', '', report);
    const tools = toTextListField(line.tools, 'tools', report);
    const model = toTextField(line.model, 'model', report);
    const cwd = toTextField(line.cwd, 'cwd', report);
    const version = toTextField(line.claude_code_version, 'claude_code_version', report);
    state.observeModel(model);
    onVersion(version, context);
    // Written again at every turn of a process that takes several.
    if (sessionId !== '' && sessionId === state.summary.agentSessionId) return;
    if (sessionId !== '') state.summary.agentSessionId = sessionId;
    state.give({ ...event, type: 'init', sessionId, tools, model, cwd, version });
  };

  const readSystem = (line: JsonObject, context: LineContext): void => {
    if (line.subtype === 'init') {
      readInit(line, context);
      return;
    }
    if (line.subtype === 'permission_denied') state.raisePrompt(toDenialPrompt(line), context.event);
    giveGeneric(state, line, context);
  };

  const readLine = (line: JsonObject, context: LineContext): void => {
    switch (line.type) {
      case 'system':
        readSystem(line, context);
        break;
      case 'assistant':
        readAssistant(state, line, context);
        break;
      case 'user':
        readUser(state, line, context);
        break;
      case 'stream_event':
        readStreamEvent(state, line, context);
        break;
      case 'result':
        readResult(state, line, context);
        break;
      case 'control_request':
        state.raisePrompt(toControlPrompt(line), context.event);
        giveGeneric(state, line, context);
        break;
      default:
        readFlat(state, line, context);
    }
  };

  const warn: StreamReader<StreamEvent>['warn'] = (warning) => {
    state.summary.warningCount++;
    return { type: 'warning', warning };
  };

  return {
    read(line: LiveLine) {
      const receivedMs = now();
      state.summary.lineCount++;
      state.summary.lastActivityMs = receivedMs;
      const context = createLineContext(line, receivedMs, (warning) => state.give(warn(warning)));
      lastEvent = context.event;
      readLine(line.value, context);
      return state.takeEvents();
    },
    warn,
    finish() {
      state.giveWaiting(lastEvent);
      return state.takeEvents();
    },
    toSummary: state.toSummary,
  };
}

/** Lines of a flat stream: a message, tool use or tool result without an envelope. */
function readFlat(state: ClaudeState, line: JsonObject, context: LineContext): void {
  const message = classifyLine(line, context.report);
  const parentToolUseId = readText(line.parent_tool_use_id);
  const base = toAssistantBase(context.event, { uuid: readText(line.uuid), parentToolUseId });
  switch (message.type) {
    case 'message': {
      const { role, content } = message;
      const shaped = { ...line, message: { ...readObject(line.message), role, content } };
      if (role === 'user') readUser(state, shaped, context);
      else readAssistant(state, shaped, context);
      break;
    }
    case 'tool_use':
      state.giveToolUse(message.id ?? '', message.tool_name, message.tool_input, base);
      break;
    case 'tool_result': {
      const isError = toBooleanField(line.is_error, 'is_error', context.report) ?? line.status === 'error';
      const block = {
        type: 'tool_result',
        tool_use_id: message.tool_use_id,
        content: message.output,
        is_error: isError,
      };
      for (const content of toContentBlocks([block], context.blocks)) giveBlock(state, content, base, context);
      break;
    }
    default:
      giveGeneric(state, line, context);
  }
}

function giveGeneric(state: ClaudeState, line: JsonObject, { event, report }: LineContext): void {
  const type = toRequiredText(line.type, 'type', '', report);
  const subtype = readText(line.subtype);
  state.give({
    ...event,
    type: 'generic',
    name: subtype === null ? type : `${type}/${subtype}`,
    isKnown: isKnownType(type),
    message: { type: 'generic', original: line },
  });
}
