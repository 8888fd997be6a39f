import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** If no registry answers, the check says so and passes: a check that fails offline is soon switched off. */
const FAILING_SEVERITIES = ['high', 'critical'];
const TIMEOUT_MS = 60_000;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

interface Advisory {
  severity: string;
  module_name: string;
  title: string;
  url: string;
}

interface AuditReport {
  advisories?: Record<string, Advisory>;
  metadata?: unknown;
  error?: { code?: string };
}

async function runAudit(root: string): Promise<AuditReport | undefined> {
  const options = { timeout: TIMEOUT_MS, maxBuffer: MAX_OUTPUT_BYTES, cwd: root };
  // It exits with 1 if it found something; the findings are in its output in either case.
  const { stdout } = await promisify(execFile)('pnpm', ['audit', '--prod', '--json'], options).catch(
    (error: unknown) =>
      typeof error === 'object' && error !== null && 'stdout' in error
        ? { stdout: String(error.stdout) }
        : { stdout: '' },
  );
  return parseReport(stdout);
}

function parseReport(output: string): AuditReport | undefined {
  try {
    const report = JSON.parse(output) as AuditReport;
    return report.metadata === undefined ? undefined : report;
  } catch {
    return undefined;
  }
}

/** Whether no runtime dependency has a known vulnerability of severity high or above, according to the registry. */
export async function auditDependencies(root: string): Promise<boolean> {
  const report = await runAudit(root);
  if (report === undefined) {
    console.error('audit: no registry answered; nothing was checked');
    return true;
  }
  const advisories = Object.values(report.advisories ?? {});
  for (const { severity, module_name, title, url } of advisories) {
    console.error(`${severity}: ${module_name}: ${title} (${url})`);
  }
  const failing = advisories.filter(({ severity }) => FAILING_SEVERITIES.includes(severity));
  console.error(`audit: ${advisories.length} advisories, ${failing.length} of severity high and above`);
  return failing.length === 0;
}
