import type { Random } from '../random.ts';
import type { PlannedTool } from './plan.ts';

const REFUSAL =
  "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file).";

/** A tool use of any kind, with its facts. */
export function pickTool(random: Random): PlannedTool {
  const tool = random.pick(TOOLS)(random);
  const outcome = random.integer(0, 9);
  if (outcome === 0) return tool;
  const afterMs = random.pick([0, 40, 900, 12_345, 70_000]);
  if (outcome === 1) return { ...tool, result: { text: REFUSAL, afterMs, isError: true, isDenied: true } };
  if (outcome === 2) return { ...tool, result: { text: 'Error: nothing is there', afterMs, isError: true } };
  return { ...tool, result: { text: 'ä'.repeat(random.integer(0, 400)), afterMs } };
}

const TOOLS: readonly ((random: Random) => PlannedTool)[] = [
  (random) => shell(random.pick(['git status', 'npm test', 'rg -n clock src']), random),
  (random) => file('Read', 'file_path', random),
  (random) => file('Edit', 'file_path', random),
  (random) => file('Write', 'file_path', random),
  (random) => file('NotebookEdit', 'notebook_path', random),
  () => ({ name: 'mcp__tracker__find', input: { text: 'clock' }, facts: { mcpServer: 'tracker' } }),
  () => ({ name: 'mcp__wiki__read', input: { page: 'Ünïcode' }, facts: { mcpServer: 'wiki' } }),
  (random) => {
    const skill = random.pick(['changelog', 'triage']);
    return { name: 'Skill', input: { skill }, facts: { skill } };
  },
  () => ({ name: 'Grep', input: { pattern: 'TODO' } }),
];

function shell(command: string, random: Random): PlannedTool {
  const [program = ''] = command.split(' ');
  const prefix = random.pick(['', 'cd /srv && ', 'LANG=C ']);
  return { name: 'Bash', input: { command: prefix + command }, facts: { program } };
}

function file(name: string, parameter: string, random: Random): PlannedTool {
  const filePath = `/srv/alpha/${random.pick(['clock.ts', 'zone.ts', 'read me.md'])}`;
  return { name, input: { [parameter]: filePath }, facts: { filePath } };
}
