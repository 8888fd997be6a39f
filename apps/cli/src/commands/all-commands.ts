import type { Command } from 'commander';
import type { CliContext } from '../terminal/cli-context.ts';
import { createAlertsCommand } from './alerts.ts';
import { createAnnotateCommand } from './annotate.ts';
import { createApiCommand } from './api.ts';
import { createAuditCommand } from './audit.ts';
import { createBackfillCommand } from './backfill.ts';
import { createBillCommand } from './bill.ts';
import { createBudgetCommand } from './budget.ts';
import { createClusterCommand } from './cluster.ts';
import { createConnectCommand } from './connect.ts';
import { createDeleteCommand } from './delete.ts';
import { createDigestCommand } from './digest.ts';
import { createDisconnectCommand } from './disconnect.ts';
import { createDoctorCommand } from './doctor.ts';
import { createExportCommand } from './export.ts';
import { createFindingsCommand } from './findings.ts';
import { createStopCommand, createUninstallCommand } from './installation.ts';
import { createIssuesCommand } from './issues.ts';
import { createKeysCommand } from './keys.ts';
import { createLiveCommand } from './live.ts';
import { createMcpCommand } from './mcp.ts';
import { createMigrateCommand } from './migrate.ts';
import { createParseCommand } from './parse.ts';
import { createPeopleCommand } from './people.ts';
import { createPlanCommand } from './plan.ts';
import { createPricesCommand } from './prices.ts';
import { createReportCommand } from './report.ts';
import { createRepositoriesCommand } from './repositories.ts';
import { createRepriceCommand } from './reprice.ts';
import { createRequeueCommand } from './requeue.ts';
import { createPullCommand, createRestoreCommand } from './restore.ts';
import { createRetainCommand } from './retain.ts';
import { createRunCommand } from './run.ts';
import { createSearchCommand } from './search.ts';
import { createSendCommand } from './send.ts';
import { createSessionsCommand } from './sessions.ts';
import { createSettingsCommand } from './settings.ts';
import { createShareCommand } from './share.ts';
import { createShowCommand, createWhyCommand } from './show.ts';
import { createSqlCommand } from './sql.ts';
import { createStatusCommand } from './status.ts';
import { createTailCommand } from './tail.ts';
import { createUpCommand } from './up.ts';
import { createUploadCommand } from './upload.ts';
import { createUsageCommand } from './usage.ts';
import { createVerifyCommand } from './verify.ts';
import { createWatchCommand } from './watch.ts';
import { createWorkerCommand } from './worker.ts';
import { createWorkspacesCommand } from './workspaces.ts';

export type CommandsByHeading = Readonly<Record<string, readonly ((context: CliContext) => Command)[]>>;

/** All commands, by their heading in `recount --help`. */
export const COMMANDS: CommandsByHeading = {
  'Get started:': [createUsageCommand, createUpCommand, createConnectCommand],
  'Import and export transcripts:': [
    createBackfillCommand,
    createUploadCommand,
    createSendCommand,
    createWatchCommand,
    createDisconnectCommand,
    createExportCommand,
    createRestoreCommand,
    createPullCommand,
    createDeleteCommand,
  ],
  'Ask:': [
    createSessionsCommand,
    createShowCommand,
    createWhyCommand,
    createReportCommand,
    createBudgetCommand,
    createPlanCommand,
    createFindingsCommand,
    createBillCommand,
    createSearchCommand,
    createAnnotateCommand,
    createRepositoriesCommand,
    createShareCommand,
    createPricesCommand,
    createSqlCommand,
    createParseCommand,
    createMcpCommand,
  ],
  'Running agents:': [createRunCommand, createTailCommand, createLiveCommand],
  'The installation:': [
    createStatusCommand,
    createIssuesCommand,
    createStopCommand,
    createUninstallCommand,
    createKeysCommand,
    createPeopleCommand,
    createWorkspacesCommand,
    createSettingsCommand,
    createAlertsCommand,
    createDigestCommand,
    createAuditCommand,
    createRetainCommand,
    createDoctorCommand,
    createVerifyCommand,
    createClusterCommand,
    createRepriceCommand,
    createRequeueCommand,
  ],
  'Its programs:': [createMigrateCommand, createApiCommand, createWorkerCommand],
};
