import { type AgentName, agentOf } from './parser-for.ts';

/** One option with its value, if it takes one, and the spellings by which a user may have given it already. */
interface OutputOption {
  words: readonly string[];
  spellings: readonly string[];
}

/** Claude Code refuses stream-json in print mode without `--verbose`. */
const OPTIONS: Record<AgentName, readonly OutputOption[]> = {
  claude: [
    { words: ['--output-format', 'stream-json'], spellings: ['--output-format'] },
    { words: ['--verbose'], spellings: ['--verbose'] },
  ],
  codex: [{ words: ['--json'], spellings: ['--json', '--experimental-json'] }],
  amp: [{ words: ['--stream-json'], spellings: ['--stream-json', '--stream-json-thinking'] }],
};

/**
 * What makes an agent write its stream, beside its own print mode (`claude -p`, `codex exec`, `amp -x`): a new array, or
 * undefined for a command that starts no agent known here.
 */
export function outputFlags(command: string): string[] | undefined {
  const agent = agentOf(command);
  return agent && OPTIONS[agent].flatMap(({ words }) => words);
}

/**
 * The arguments with those of the output flags put in that are not there yet: after `exec` for Codex, else at the end,
 * but before a `--`; the user's own arguments stay as they are and in order. Undefined where the agent would write no
 * stream: an agent unknown here, another output format asked for, or a command of Codex other than `exec`.
 */
export function withOutputFlags(command: string, args: readonly string[]): string[] | undefined {
  const agent = agentOf(command);
  if (agent === undefined) return undefined;
  const end = args.indexOf('--') === -1 ? args.length : args.indexOf('--');
  const options = args.slice(0, end);
  if (agent === 'claude' && (readOption(options, '--output-format') ?? 'stream-json') !== 'stream-json')
    return undefined;
  const exec = options.findIndex((word) => word === 'exec' || word === 'e');
  if (agent === 'codex' && exec === -1) return undefined;
  const missing = OPTIONS[agent].filter(
    ({ spellings }) => !options.some((word) => spellings.some((name) => word === name || word.startsWith(`${name}=`))),
  );
  const at = agent === 'codex' ? exec + 1 : end;
  return [...args.slice(0, at), ...missing.flatMap(({ words }) => words), ...args.slice(at)];
}

function readOption(options: readonly string[], name: string): string | undefined {
  const joined = options.find((word) => word.startsWith(`${name}=`));
  const at = options.indexOf(name);
  return joined?.slice(name.length + 1) ?? (at === -1 ? undefined : (options[at + 1] ?? ''));
}
