import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FULL_CONTEXT_TOKENS } from '../situations.ts';
import { findInFirst, type Program } from './program.ts';

/** Newer models call tools from scripts. */
const toScript = (command: string): string =>
  `const result = await tools.exec_command(${JSON.stringify({ cmd: command })});\ntext(result);\n`;

export const codex: Program = {
  agent: 'codex',
  label: 'Codex',
  packageName: '@openai/codex',
  command: 'codex',
  liveAgent: 'codex',
  isLiveWithoutSubagents: true,
  sendsTelemetry: true,
  tools: {
    shell: (command) => ({ name: 'exec', input: toScript(command) }),
    agent: (prompt) => ({
      name: 'spawn_agent',
      namespace: 'collaboration',
      input: { task_name: 'part', message: prompt, fork_turns: 'none' },
    }),
    waitForAgents: () => ({ name: 'wait_agent', namespace: 'collaboration', input: { timeout_ms: 30_000 } }),
  },
  async prepare({ home, url, telemetry }) {
    await mkdir(join(home, '.codex'), { recursive: true });
    const settings = `model = "gpt-6.2-sol"
model_provider = "lab"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.lab]
name = "lab"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "LAB_KEY"
request_max_retries = 4
stream_max_retries = 4
`;
    const otel = `[otel]
log_user_prompt = false
[otel.exporter.otlp-http]
endpoint = "${telemetry?.url}/v1/otlp/v1/logs"
protocol = "binary"
headers = { Authorization = "Bearer ${telemetry?.key}" }
`;
    await writeFile(join(home, '.codex/config.toml'), settings + (telemetry === undefined ? '' : otel));
    return { LAB_KEY: 'sk-lab' };
  },
  toArguments(turn, earlier) {
    const id = () => findInFirst(earlier, /"thread_id":"([^"]+)"/);
    const session = {
      new: () => [],
      continue: () => ['resume', '--last'],
      resume: () => ['resume', id()],
      fork: () => ['fork', id()],
    }[turn.start]();
    const fast = turn.isFast === true ? ['-c', 'service_tier="fast"'] : [];
    const limit = `model_auto_compact_token_limit=${FULL_CONTEXT_TOKENS}`;
    const compaction = turn.isCompaction === true ? ['-c', limit] : [];
    return ['exec', ...session, '--json', '--skip-git-repo-check', ...fast, ...compaction, turn.prompt];
  },
};
