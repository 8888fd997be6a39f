import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findInFirst, type Program } from './program.ts';

export const qwen: Program = {
  agent: 'qwen',
  label: 'Qwen Code',
  packageName: '@qwen-code/qwen-code',
  command: 'qwen',
  compactCommand: '/compress',
  tools: {
    shell: (command) => ({ name: 'run_shell_command', input: { command, is_background: false } }),
    agent: (prompt) => ({
      name: 'agent',
      input: { description: 'Do a part', prompt, subagent_type: 'general-purpose' },
    }),
  },
  async prepare({ home, url }) {
    await mkdir(join(home, '.qwen'), { recursive: true });
    const settings = {
      security: { auth: { selectedType: 'openai' }, folderTrust: { enabled: false } },
      general: { enableAutoUpdate: false },
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
    };
    await writeFile(join(home, '.qwen/settings.json'), JSON.stringify(settings));
    return { OPENAI_API_KEY: 'sk-lab', OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: 'qwen3-coder-plus' };
  },
  toArguments(turn, earlier) {
    const id = () => findInFirst(earlier, /"session_id":"([^"]+)"/);
    const session = {
      new: () => [],
      continue: () => ['--continue'],
      resume: () => ['--resume', id()],
      fork: () => ['--resume', id(), '--fork-session'],
    }[turn.start]();
    return ['--yolo', '--output-format', 'stream-json', ...session, '-p', turn.prompt];
  },
  notTried: { fast: 'it has no fast tier' },
};
