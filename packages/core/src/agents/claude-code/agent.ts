import type { JsonObject } from '../../lines/json.ts';
import type { Agent, AgentProgram, ContentIdentity, Format } from '../agent.ts';
import { toOptionsEnd } from '../option-position.ts';
import { findClaudeCodeAttachment, readClaudeCodeAttachmentPath, toClaudeCodeAttachmentKind } from './attachments.ts';
import { createDirectReader } from './direct-usage.ts';
import { claudeCodePromptHistory, PROMPTS_FORMAT, promptsFormat } from './prompt-history.ts';
import { createClaudeCodeReader } from './reader.ts';
import { claudeCodeTelemetry } from './telemetry.ts';
import { readClaudeCodePath } from './transcript-path.ts';

const SESSION_ONLY_TYPES = new Set<unknown>(['summary', 'file-history-snapshot', 'queue-operation', 'progress']);
const STREAM_TYPES = new Set<unknown>(['system', 'user', 'assistant', 'result', 'stream_event']);

const USAGE_MARKERS = {
  usage: ['"usage"', '"modelUsage"'],
  searches: ['"toolUseResult"', '"tool_use_result"'],
  answers: ['"type":"assistant"'],
};

const sessionFormat: Format = {
  id: 'claude-code',
  kind: 'session',
  outranks: [PROMPTS_FORMAT],
  usageMarkers: USAGE_MARKERS,
  createDirectReader,
  detect(line) {
    if (claudeCodePromptHistory.isLine(line)) return 0;
    // Other agents have these fields too, and detect their own with higher confidence.
    if (typeof line.sessionId === 'string' || ('parentUuid' in line && 'uuid' in line)) return 0.9;
    return typeof line.session_id !== 'string' && SESSION_ONLY_TYPES.has(line.type) ? 0.3 : 0;
  },
  identify(line, found) {
    found.sessionId ??= toId(line.sessionId);
    identifyMessage(line, found);
  },
  createReader: createClaudeCodeReader,
};

const streamFormat: Format = {
  id: 'claude-stream-json',
  kind: 'stream',
  outranks: [PROMPTS_FORMAT],
  usageMarkers: USAGE_MARKERS,
  // Other agents write the same shape and detect their own with higher confidence.
  detect: (line) => (typeof line.session_id === 'string' && STREAM_TYPES.has(line.type) ? 0.5 : 0),
  identify(line, found) {
    found.sessionId ??= toId(line.session_id);
    identifyMessage(line, found);
  },
  createReader: createClaudeCodeReader,
};

/** `claude -p` */
export const claudeCodeProgram: AgentProgram = {
  command: 'claude',
  sourceFormat: 'stream-json',
  // Print mode refuses stream-json without `--verbose`.
  outputOptions: [
    { words: ['--output-format', 'stream-json'], spellings: ['--output-format'] },
    { words: ['--verbose'], spellings: ['--verbose'] },
    // Makes it print user messages with their uuids, the points that the session can be rewound to. Only accepted with
    // stream input.
    {
      words: ['--replay-user-messages'],
      spellings: ['--replay-user-messages'],
      isTaken: (args) => readOption(args, '--input-format') === 'stream-json',
    },
  ],
  toOptionIndex(args) {
    const end = toOptionsEnd(args);
    return (readOption(args.slice(0, end), '--output-format') ?? 'stream-json') === 'stream-json' ? end : undefined;
  },
  createReader: createClaudeCodeReader,
};

/** Files in a session's folder, see `attachments.ts`. */
const ATTACHMENT_FILES = [
  'tool-results/**/*',
  'subagents/**/*.meta.json',
  'subagents/workflows/*/journal.jsonl',
  'workflows/**/*',
];

/** Data of the desktop app, where Claude Cowork runs Claude Code with a separate settings folder for each session. */
const COWORK_BASES = [
  '.config/Claude',
  'Library/Application Support/Claude',
  'AppData/Roaming/Claude',
  'AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude',
];

/**
 * https://code.claude.com/docs. Session files below `~/.claude/projects`, and `claude -p --output-format stream-json`.
 */
export const claudeCode: Agent = {
  id: 'claude-code',
  label: 'Claude Code',
  toResumeWords: (sessionId) => ['claude', '--resume', sessionId],
  places: [
    {
      holds: 'transcripts',
      variable: 'CLAUDE_CONFIG_DIR',
      bases: ['.claude', '.config/claude'],
      files: ['projects/**/*.jsonl'],
    },
    {
      ...{ holds: 'attachments', variable: 'CLAUDE_CONFIG_DIR', bases: ['.claude', '.config/claude'] },
      files: ATTACHMENT_FILES.map((file) => `projects/*/*/${file}`),
    },
    {
      ...{ holds: 'prompts', what: 'prompts of sessions whose transcripts are gone' },
      ...{ variable: 'CLAUDE_CONFIG_DIR', bases: ['.claude', '.config/claude'] },
      files: [claudeCodePromptHistory.file],
    },
    {
      ...{ holds: 'transcripts', bases: COWORK_BASES },
      files: [
        'local-agent-mode-sessions/*/*/*/.claude/projects/**/*.jsonl',
        // Sessions of Cowork's own agent, which delegates tasks.
        'local-agent-mode-sessions/*/*/agent/*/.claude/projects/**/*.jsonl',
      ],
    },
    {
      ...{ holds: 'attachments', bases: COWORK_BASES },
      files: ['*', 'agent/*'].flatMap((folder) =>
        ATTACHMENT_FILES.map((file) => `local-agent-mode-sessions/*/*/${folder}/.claude/projects/*/*/${file}`),
      ),
    },
    {
      ...{ holds: 'aside', what: 'Cowork’s log of what its sessions streamed', bases: COWORK_BASES },
      files: ['local-agent-mode-sessions/*/*/*/audit.jsonl', 'local-agent-mode-sessions/*/*/agent/*/audit.jsonl'],
    },
  ],
  formats: [sessionFormat, streamFormat, promptsFormat],
  promptHistory: claudeCodePromptHistory,
  readPath: readClaudeCodePath,
  attachments: {
    readPath: readClaudeCodeAttachmentPath,
    toKind: toClaudeCodeAttachmentKind,
    findReference: findClaudeCodeAttachment,
  },
  program: claudeCodeProgram,
  telemetry: claudeCodeTelemetry,
};

function readOption(options: readonly string[], name: string): string | undefined {
  const joined = options.find((word) => word.startsWith(`${name}=`));
  const at = options.indexOf(name);
  return joined?.slice(name.length + 1) ?? (at === -1 ? undefined : (options[at + 1] ?? ''));
}

function identifyMessage(line: JsonObject, found: ContentIdentity): void {
  if (found.hasMessage || (line.type !== 'user' && line.type !== 'assistant')) return;
  found.hasMessage = true;
  if (line.isSidechain === true) found.agentId = toId(line.agentId);
}

function toId(value: JsonObject[string] | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
