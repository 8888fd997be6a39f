import type {
  DemoAgent,
  DemoCall,
  DemoClaudeCall,
  DemoResponse,
  DemoSession,
  DemoSubagent,
  DemoTurn,
} from './demo-session.ts';

/** A transcript with the path where the agent keeps it. */
export interface WrittenSession {
  path: string;
  text: string;
}

/** Writes the session as the agent does (docs/formats), one JSON object per line. */
export function writeSession(session: DemoSession): WrittenSession {
  const { toPath, toLines } = WRITERS[session.agent];
  return {
    path: toPath(session),
    text: toLines(session)
      .map((line) => `${JSON.stringify(line)}\n`)
      .join(''),
  };
}

interface Writer {
  toPath(session: DemoSession): string;
  toLines(session: DemoSession): object[];
}

const toIso = (ms: number): string => new Date(ms).toISOString();
const toFolderName = (cwd: string): string => cwd.replaceAll(/[^A-Za-z0-9]/g, '-');
const textBlock = (text: string): object => ({ type: 'text', text });

const WRITERS: Record<DemoAgent, Writer> = {
  'claude-code': {
    toPath: ({ home, cwd, sessionId, agentId }) => {
      const name = agentId === undefined ? sessionId : `${sessionId}/subagents/agent-${agentId}`;
      return `${home}/.claude/projects/${toFolderName(cwd)}/${name}.jsonl`;
    },
    toLines: toClaudeLines,
  },
  codex: {
    toPath: ({ home, startMs, sessionId }) => {
      const [day = '', time = ''] = toIso(startMs).slice(0, 19).split('T');
      const name = `rollout-${day}T${time.replaceAll(':', '-')}-${sessionId}.jsonl`;
      return `${home}/.codex/sessions/${day.replaceAll('-', '/')}/${name}`;
    },
    toLines: toCodexLines,
  },
  copilot: {
    toPath: ({ home, sessionId }) => `${home}/.copilot/session-state/${sessionId}/events.jsonl`,
    toLines: toCopilotLines,
  },
  pi: {
    toPath: ({ home, cwd, startMs, sessionId }) =>
      `${home}/.pi/agent/sessions/-${toFolderName(cwd)}--/${toIso(startMs).replaceAll(/[:.]/g, '-')}_${sessionId}.jsonl`,
    toLines: toPiLines,
  },
  qwen: {
    toPath: ({ home, cwd, sessionId }) => `${home}/.qwen/projects/${toFolderName(cwd)}/chats/${sessionId}.jsonl`,
    toLines: toQwenLines,
  },
};

/** The turns' lines in their order. */
function toTurnLines(
  { turns }: DemoSession,
  writePrompt: (turn: DemoTurn) => object[],
  writeResponse: (response: DemoResponse) => object[],
): object[] {
  return turns.flatMap((turn) => [...writePrompt(turn), ...turn.responses.flatMap(writeResponse)]);
}

function toClaudeLines(session: DemoSession): object[] {
  const { sessionId, cwd, branch, model, title, pullRequest, agentId } = session;
  const ofSubagent = { isSidechain: agentId !== undefined, ...(agentId !== undefined && { agentId }) };
  const common = { sessionId, cwd, gitBranch: branch, version: '2.1.332', userType: 'external', ...ofSubagent };
  const firstUuid = agentId === undefined ? sessionId : `${sessionId.slice(0, -12)}${agentId}`;
  let count = 0;
  const line = (type: string, atMs: number, fields: object): object => ({
    ...{
      ...common,
      type,
      uuid: `${firstUuid.slice(0, -6)}${String(++count).padStart(6, '0')}`,
      timestamp: toIso(atMs),
    },
    ...fields,
  });
  const user = (atMs: number, content: unknown): object => line('user', atMs, { message: { role: 'user', content } });
  const lines = toTurnLines(
    session,
    ({ atMs, prompt }) => [user(atMs, prompt)],
    ({ atMs, id, usage, text, call: common, claudeCall }) => {
      const call = common === undefined ? claudeCall : { ...common, ...toClaudeCall(common) };
      const content = [
        ...(text === '' ? [] : [textBlock(text)]),
        ...(call === undefined ? [] : [{ type: 'tool_use', id: call.id, name: call.name, input: call.input }]),
      ];
      const message = {
        ...{ id: `msg_${id}`, type: 'message', role: 'assistant', model, content },
        stop_reason: call === undefined ? 'end_turn' : 'tool_use',
        usage: {
          input_tokens: usage.input,
          output_tokens: usage.output,
          cache_read_input_tokens: usage.cacheRead,
          cache_creation_input_tokens: usage.cacheWrite,
        },
      };
      const answer = line('assistant', atMs, { requestId: `req_${id}`, message });
      if (call === undefined) return [answer];
      const { output, isError } = call;
      const result = { type: 'tool_result', tool_use_id: call.id, content: output, ...(isError && { is_error: true }) };
      const ofAgent = claudeCall?.subagent && { toolUseResult: toAgentResult(claudeCall, claudeCall.subagent) };
      return [answer, line('user', call.endMs, { message: { role: 'user', content: [result] }, ...ofAgent })];
    },
  );
  if (agentId !== undefined) return lines;
  const named = [...lines, { type: 'ai-title', aiTitle: title, sessionId }];
  if (pullRequest === undefined) return named;
  const { number: prNumber, repository: prRepository } = pullRequest;
  const prUrl = `https://github.com/${prRepository}/pull/${prNumber}`;
  const timestamp = toIso(toEndMs(session));
  return [...named, { type: 'pr-link', sessionId, prNumber, prUrl, prRepository, timestamp }];
}

const toAgentResult = ({ output, endMs }: DemoClaudeCall, { agentId, type, startMs }: DemoSubagent): object => ({
  ...{ status: 'completed', agentId, agentType: type },
  ...{ content: [textBlock(output)], totalDurationMs: endMs - startMs },
});

function toClaudeCall({ action }: DemoCall): { name: string; input: object } {
  switch (action.kind) {
    case 'run':
      return { name: 'Bash', input: { command: action.command } };
    case 'read':
      return { name: 'Read', input: { file_path: action.path } };
    case 'edit':
      return { name: 'Edit', input: { file_path: action.path, old_string: action.before, new_string: action.after } };
    case 'search':
      return { name: 'Grep', input: { pattern: action.pattern } };
  }
}

function toCodexLines(session: DemoSession): object[] {
  const { sessionId, cwd, branch, remote, model, startMs } = session;
  const line = (atMs: number, type: string, payload: object): object => ({ timestamp: toIso(atMs), type, payload });
  const total = { input_tokens: 0, cached_input_tokens: 0, output_tokens: 0, total_tokens: 0 };
  const head = { id: sessionId, timestamp: toIso(startMs), cwd, originator: 'codex_cli_rs', cli_version: '0.142.0' };
  return [
    line(startMs, 'session_meta', { ...head, git: { branch, repository_url: remote } }),
    line(startMs, 'turn_context', { cwd, model, effort: 'medium', approval_policy: 'on-request' }),
    ...toTurnLines(
      session,
      ({ atMs, prompt }) => [
        line(atMs, 'response_item', { type: 'message', role: 'user', content: [{ type: 'input_text', text: prompt }] }),
        line(atMs, 'event_msg', { type: 'user_message', message: prompt }),
      ],
      ({ atMs, usage, text, call }) => {
        const input = usage.input + usage.cacheRead + usage.cacheWrite;
        const last = {
          ...{ input_tokens: input, cached_input_tokens: usage.cacheRead, output_tokens: usage.output },
          total_tokens: input + usage.output,
        };
        for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += last[name];
        const info = { total_token_usage: { ...total }, last_token_usage: last };
        const content = [{ type: 'output_text', text }];
        return [
          ...(text === '' ? [] : [line(atMs, 'response_item', { type: 'message', role: 'assistant', content })]),
          ...(call === undefined ? [] : toCodexCall(call, (at, payload) => line(at, 'response_item', payload), atMs)),
          line(call?.endMs ?? atMs, 'event_msg', { type: 'token_count', info }),
        ];
      },
    ),
  ];
}

function toCodexCall(
  { id, action, output, isError, endMs }: DemoCall,
  item: (atMs: number, payload: object) => object,
  atMs: number,
): object[] {
  const call_id = `call_${id}`;
  const result = `Exit code: ${isError ? 1 : 0}\nWall time: ${((endMs - atMs) / 1000).toFixed(1)} seconds\nOutput:\n${output}`;
  if (action.kind === 'edit') {
    const change = `@@\n-${action.before}\n+${action.after}\n`;
    const input = `*** Begin Patch\n*** Update File: ${action.path}\n${change}*** End Patch`;
    return [
      item(atMs, { type: 'custom_tool_call', status: 'completed', call_id, name: 'apply_patch', input }),
      item(endMs, { type: 'custom_tool_call_output', call_id, output: result }),
    ];
  }
  return [
    item(atMs, {
      type: 'function_call',
      name: 'exec_command',
      call_id,
      arguments: JSON.stringify({ cmd: toCommand(action) }),
    }),
    item(endMs, { type: 'function_call_output', call_id, output: result }),
  ];
}

function toCommand(action: Exclude<DemoCall['action'], { kind: 'edit' }>): string {
  if (action.kind === 'run') return action.command;
  return action.kind === 'read' ? `sed -n '1,200p' ${action.path}` : `rg -n ${action.pattern}`;
}

function toCopilotLines(session: DemoSession): object[] {
  const { sessionId, cwd, branch, model, startMs } = session;
  let count = 0;
  const event = (atMs: number, type: string, data: object): object => {
    const id = `${sessionId.slice(0, -6)}${String(++count).padStart(6, '0')}`;
    return { type, data, id, timestamp: toIso(atMs), parentId: null };
  };
  const context = { cwd, gitRoot: cwd, branch };
  const start = {
    sessionId,
    version: 1,
    producer: 'copilot-agent',
    copilotVersion: '1.0.102',
    startTime: toIso(startMs),
  };
  return [
    event(startMs, 'session.start', { ...start, context }),
    event(startMs, 'session.model_change', { newModel: model }),
    ...toTurnLines(
      session,
      ({ atMs, prompt }) => [event(atMs, 'user.message', { content: prompt })],
      ({ atMs, id, usage, text, call }) => {
        const counts = {
          ...{ inputTokens: usage.input + usage.cacheRead + usage.cacheWrite, outputTokens: usage.output },
          ...{ cacheReadTokens: usage.cacheRead, cacheWriteTokens: usage.cacheWrite },
        };
        const apiCallId = `msg_${id}`;
        const accounting = { sequence: count, usageId: apiCallId };
        const { name, input } = call === undefined ? { name: '', input: {} } : toCopilotCall(call);
        const toolRequests =
          call === undefined ? [] : [{ toolCallId: call.id, name, arguments: input, type: 'function' }];
        return [
          event(atMs, 'session.usage_record', { usage: { model, ...counts, cost: 0, apiCallId, accounting } }),
          event(atMs, 'assistant.message', { messageId: id, apiCallId, model, content: text, toolRequests }),
          ...(call === undefined
            ? []
            : [
                event(atMs, 'tool.execution_start', { toolCallId: call.id, toolName: name, arguments: input }),
                event(call.endMs, 'tool.execution_complete', {
                  ...{ toolCallId: call.id, success: !call.isError, result: { content: call.output } },
                }),
              ]),
        ];
      },
    ),
  ];
}

function toCopilotCall({ action }: DemoCall): { name: string; input: object } {
  switch (action.kind) {
    case 'run':
      return { name: 'bash', input: { command: action.command } };
    case 'read':
      return { name: 'view', input: { path: action.path } };
    case 'edit':
      return { name: 'edit', input: { path: action.path, old_str: action.before, new_str: action.after } };
    case 'search':
      return { name: 'grep', input: { pattern: action.pattern } };
  }
}

function toPiLines(session: DemoSession): object[] {
  const { sessionId, cwd, model, startMs } = session;
  let count = 0;
  const entry = (atMs: number, message: object): object => {
    const [id, parentId] = [String(count + 1).padStart(8, '0'), count === 0 ? null : String(count).padStart(8, '0')];
    count += 1;
    return { type: 'message', id, parentId, timestamp: toIso(atMs), message: { ...message, timestamp: atMs } };
  };
  return [
    { type: 'session', version: 3, id: sessionId, timestamp: toIso(startMs), cwd },
    ...toTurnLines(
      session,
      ({ atMs, prompt }) => [entry(atMs, { role: 'user', content: [textBlock(prompt)] })],
      ({ atMs, id, usage, text, call }) => {
        const { name, input } = call === undefined ? { name: '', input: {} } : toPiCall(call);
        const content = [
          ...(text === '' ? [] : [textBlock(text)]),
          ...(call === undefined ? [] : [{ type: 'toolCall', id: call.id, name, arguments: input }]),
        ];
        const totalTokens = usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
        const answer = {
          ...{ role: 'assistant', content, api: 'anthropic-messages', provider: 'anthropic', model },
          ...{ usage: { ...usage, totalTokens }, responseId: `msg_${id}` },
          stopReason: call === undefined ? 'stop' : 'toolUse',
        };
        if (call === undefined) return [entry(atMs, answer)];
        const { id: toolCallId, output, isError } = call;
        const result = { role: 'toolResult', toolCallId, toolName: name, isError, content: [textBlock(output)] };
        return [entry(atMs, answer), entry(call.endMs, result)];
      },
    ),
  ];
}

function toPiCall({ action }: DemoCall): { name: string; input: object } {
  switch (action.kind) {
    case 'run':
      return { name: 'bash', input: { command: action.command } };
    case 'read':
      return { name: 'read', input: { path: action.path } };
    case 'edit':
      return { name: 'edit', input: { path: action.path, oldText: action.before, newText: action.after } };
    case 'search':
      return { name: 'grep', input: { pattern: action.pattern } };
  }
}

function toQwenLines(session: DemoSession): object[] {
  const { sessionId, cwd, branch, model } = session;
  let last: string | null = null;
  let count = 0;
  const line = (atMs: number, type: string, fields: object): object => {
    const parentUuid = last;
    last = `${sessionId.slice(0, -6)}${String(++count).padStart(6, '0')}`;
    const common = { uuid: last, parentUuid, sessionId, cwd, version: '0.24.4', gitBranch: branch };
    return { ...common, timestamp: toIso(atMs), type, ...fields };
  };
  const parts = (role: string, ...elements: object[]): object => ({ message: { role, parts: elements } });
  return toTurnLines(
    session,
    ({ atMs, prompt }) => [line(atMs, 'user', parts('user', { text: prompt }))],
    ({ atMs, usage, text, call }) => {
      const promptTokenCount = usage.input + usage.cacheRead + usage.cacheWrite;
      const usageMetadata = {
        ...{ promptTokenCount, candidatesTokenCount: usage.output, cachedContentTokenCount: usage.cacheRead },
        totalTokenCount: promptTokenCount + usage.output,
      };
      if (call === undefined) return [line(atMs, 'assistant', { model, ...parts('model', { text }), usageMetadata })];
      const { name, args } = toQwenCall(call);
      const answer = parts('model', ...(text === '' ? [] : [{ text }]), { functionCall: { id: call.id, name, args } });
      const result = { functionResponse: { id: call.id, name, response: { output: call.output } } };
      const toolCallResult = { status: call.isError ? 'error' : 'success' };
      return [
        line(atMs, 'assistant', { model, ...answer, usageMetadata }),
        line(call.endMs, 'tool_result', { ...parts('user', result), toolCallResult }),
      ];
    },
  );
}

function toQwenCall({ action }: DemoCall): { name: string; args: object } {
  switch (action.kind) {
    case 'run':
      return { name: 'run_shell_command', args: { command: action.command } };
    case 'read':
      return { name: 'read_file', args: { absolute_path: action.path } };
    case 'edit':
      return { name: 'edit', args: { file_path: action.path, old_string: action.before, new_string: action.after } };
    case 'search':
      return { name: 'search_file_content', args: { pattern: action.pattern } };
  }
}

function toEndMs({ turns, startMs }: DemoSession): number {
  const last = turns.at(-1)?.responses.at(-1);
  return last?.call?.endMs ?? last?.atMs ?? startMs;
}
