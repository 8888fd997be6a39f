import type { Session } from './session.ts';
import type { TextSource } from './text.ts';

/** A tool's input and its answer. */
export interface ToolCall {
  readonly name: string;
  readonly input: object;
  /** Content of the `tool_result` block. */
  readonly content: string | object[];
  /** The agent's own record of the result, beside the message. */
  readonly toolUseResult: object;
}

interface Tool {
  readonly weight: number;
  /** Question and answer are on different lines: `asked` is the text source of one, `answered` of the other. */
  call(session: Session, asked: TextSource, answered: TextSource): ToolCall;
}

const maxResultCharacters = 200_000;

const tools: readonly [Tool, ...Tool[]] = [
  { weight: 30, call: read },
  { weight: 34, call: bash },
  { weight: 18, call: edit },
  { weight: 10, call: grep },
  { weight: 4, call: write },
  { weight: 2, call: task },
  { weight: 2, call: todoWrite },
];

export function createToolCall(session: Session): ToolCall {
  return session.random.pickWeighted(tools).call(session, session.text(), session.text());
}

function read({ random, path }: Session, _asked: TextSource, answered: TextSource): ToolCall {
  const filePath = path();
  const content = answered.passage(random.length(7000, 1.2, maxResultCharacters));
  const lines = content.split('\n');
  return {
    name: 'Read',
    input: { file_path: filePath },
    content: lines.map((line, index) => `${index + 1}\t${line}`).join('\n'),
    toolUseResult: {
      type: 'text',
      file: { filePath, content, numLines: lines.length, startLine: 1, totalLines: lines.length },
    },
  };
}

function bash({ random }: Session, asked: TextSource, answered: TextSource): ToolCall {
  const stdout = answered.passage(random.length(3200, 1.6, maxResultCharacters));
  return {
    name: 'Bash',
    input: { command: `pnpm vitest run --grep "${asked.phrase()}"`, description: asked.phrase() },
    content: stdout,
    toolUseResult: { stdout, stderr: '', interrupted: false, isImage: false },
  };
}

function edit({ random, path }: Session, asked: TextSource, answered: TextSource): ToolCall {
  const filePath = path();
  const oldString = asked.passage(random.length(900, 1, 20_000));
  const newString = asked.passage(random.length(1200, 1, 20_000));
  const shown = answered.passage(900);
  return {
    name: 'Edit',
    input: { file_path: filePath, old_string: oldString, new_string: newString, replace_all: false },
    content: `The file ${filePath} has been updated successfully.\n${shown}`,
    toolUseResult: {
      filePath,
      oldString: shown,
      newString: shown,
      originalFile: answered.passage(random.length(13_000, 0.9, maxResultCharacters)),
      structuredPatch: [{ oldStart: 12, oldLines: 6, newStart: 12, newLines: 8, lines: shown.split('\n') }],
      userModified: false,
      replaceAll: false,
    },
  };
}

function grep({ random, path }: Session, asked: TextSource, answered: TextSource): ToolCall {
  const content = answered.passage(random.length(2000, 1.3, 60_000));
  return {
    name: 'Grep',
    input: { pattern: asked.phrase(), path: path(), output_mode: 'content', '-n': true },
    content,
    toolUseResult: { mode: 'content', numFiles: 0, filenames: [], content, numLines: 12 },
  };
}

function write({ random, path }: Session, asked: TextSource, answered: TextSource): ToolCall {
  const filePath = path();
  return {
    name: 'Write',
    input: { file_path: filePath, content: asked.passage(random.length(6000, 0.9, 80_000)) },
    content: `File created successfully at: ${filePath}`,
    toolUseResult: {
      type: 'create',
      filePath,
      content: answered.passage(6000),
      structuredPatch: [],
      originalFile: null,
    },
  };
}

function task({ random, apiId }: Session, asked: TextSource, answered: TextSource): ToolCall {
  const agentId = apiId('a').slice(0, 8);
  const report = answered.passage(random.length(4000, 0.7, 30_000));
  return {
    name: 'Task',
    input: { subagent_type: 'Explore', description: asked.phrase(), prompt: asked.passage(1200) },
    content: [
      { type: 'text', text: report },
      { type: 'text', text: `agentId: ${agentId}\ntotal_tokens: 48210\ntool_uses: 9` },
    ],
    toolUseResult: {
      status: 'completed',
      agentId,
      content: [{ type: 'text', text: report }],
      totalDurationMs: random.integer(20_000, 200_000),
      totalTokens: 48_210,
      totalToolUseCount: 9,
    },
  };
}

function todoWrite(_session: Session, asked: TextSource, answered: TextSource): ToolCall {
  const todos = (text: TextSource) =>
    ['completed', 'in_progress', 'pending'].map((status) => ({
      content: text.phrase(),
      status,
      activeForm: 'Working',
    }));
  return {
    name: 'TodoWrite',
    input: { todos: todos(asked) },
    content: 'Todos have been modified successfully.',
    toolUseResult: { oldTodos: todos(answered), newTodos: todos(answered) },
  };
}
