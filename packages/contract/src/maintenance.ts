import { z } from 'zod';
import { MAINTENANCE_CHECKS } from './choices.ts';
import { countField, text, timestampField } from './fields.ts';

/** Kinds of the doctor's findings, as `recount doctor --json` names it. */
const DOCTOR_FINDING_KINDS = [
  'orphan-object',
  'orphan-stream',
  'orphan-attachment',
  'missing-object',
  'wrong-size',
  'wrong-content',
  'unreadable-object',
  'wrong-description',
  'missing-stream',
  'wrong-stream-size',
  'wrong-stream-content',
  'damaged-attachment',
  'lost-job',
  'failed-transcript',
  'unfinished-deletion',
  'notice',
  'search-behind',
  'lost-segments',
  'silent-node',
  'damaged-relation',
  'unchecked-database',
  'undescribed-objects',
  'stale-uploads',
  'unwritable-store',
] as const;

/** In camel case, as the command prints them. */
const doctorFindingSchema = z
  .object({
    kind: z.enum(DOCTOR_FINDING_KINDS),
    fixed: z.boolean().describe('It was repaired'),
    workspaceId: z.string().optional(),
    transcriptId: z.string().optional(),
    streamId: z.string().optional(),
    attachmentId: z.string().optional(),
    state: z
      .enum(['missing', 'wrong-size', 'wrong-content', 'unreadable'])
      .optional()
      .describe('What is wrong with the object of an attachment'),
    objectKey: z.string().optional().describe('In the raw store'),
    sizeBytes: countField.optional(),
    obstacle: z
      .enum(['no-workspace', 'damaged', 'unreadable'])
      .optional()
      .describe('Why an object without a row cannot be received'),
    waitingSessions: countField.optional(),
    failingSessions: countField.optional(),
    count: countField.optional(),
    agent: z.string().optional(),
    agentVersion: z.string().nullable().optional().describe('As the transcripts of a notice name it'),
    transcriptCount: countField.optional().describe('Transcripts with this notice'),
    relation: z.string().optional().describe('A table or an index'),
    node: z.string().optional().describe('A node of the cluster of the database, `host:port`'),
    workspaces: z.array(z.string()).optional().describe('Names of the workspaces on that node'),
    reason: z.string().optional(),
  })
  .meta({ id: 'DoctorFinding', description: 'A disagreement between raw store, database and queue' });

export type DoctorFinding = z.infer<typeof doctorFindingSchema>;

const doctorReportSchema = z
  .object({
    findings: z.array(doctorFindingSchema).describe('In the order of the search; of a check over HTTP the first 500'),
    findingCount: countField.describe('All, without notices'),
    needAttention: countField.describe('Those that need attention'),
    checked: z.object({
      objects: countField.describe('Objects of the store whose row was looked for'),
      transcripts: countField.describe('Transcripts whose raw object was looked for'),
      streams: countField,
      attachments: countField.default(0).describe('Attachments whose raw object was looked for'),
      checksums: countField.describe('Objects that were read to their end'),
      checksumBytes: countField,
    }),
    skipped: z.object({
      youngObjects: countField.describe('Objects without a row, younger than an hour, whose upload may be in progress'),
      youngJobs: countField.describe('Transcripts younger than an hour whose job was not looked for'),
      expiredObjects: countField.describe('Transcripts whose raw object retention has deleted'),
      streamsWithoutChecksum: countField,
    }),
  })
  .meta({ id: 'DoctorReport', description: 'The output of `recount doctor --json`' });

export type DoctorReport = z.infer<typeof doctorReportSchema>;

const verifyReportSchema = z
  .object({
    tables: z.array(
      z.object({
        table: z.string(),
        rows: countField,
        missing: countField.describe('Rows that the recount gives and the table lacks'),
        surplus: countField.describe('Rows that the table has and the recount does not give'),
      }),
    ),
  })
  .meta({
    id: 'VerifyReport',
    description: 'How stored figures compare with a full recount, as `recount verify` does it',
  });

export type VerifyReport = z.infer<typeof verifyReportSchema>;

const kindField = z
  .enum(MAINTENANCE_CHECKS)
  .describe('`doctor` compares raw store, database and queue; `verify` counts all figures again');
const scopeField = z
  .enum(['workspace', 'installation'])
  .describe('`installation` covers all workspaces, which needs the scope operator');

const maintenanceCheckSchema = z
  .object({
    kind: kindField,
    scope: scopeField,
    state: z
      .enum(['running', 'done', 'failed', 'interrupted'])
      .describe('`interrupted` means its process ended, or was not heard of for 30 seconds'),
    is_fix: z.boolean().describe('It repairs what it can'),
    actor: z.string().describe('Who started it, as the audit log has it'),
    started_at: timestampField,
    ended_at: timestampField.nullable(),
    step: z.string().describe('The current or last step; for `verify`, a table'),
    done: countField.describe('How much of the step is done; for `verify`, tables'),
    total: countField.nullable().describe('Null if unknown'),
    failure_reason: z.string().nullable(),
    report_at: timestampField.nullable().describe('When the last completed run ended; null if there was none'),
    report_is_fix: z.boolean().nullable(),
    doctor: doctorReportSchema.nullable().describe('Report of the last run that finished'),
    verify: verifyReportSchema.nullable().describe('Report of the last run that finished'),
  })
  .meta({
    id: 'MaintenanceCheck',
    description: 'The last check of its kind, and the report of the last that was done',
  });

export type MaintenanceCheck = z.infer<typeof maintenanceCheckSchema>;

export const maintenanceCheckListSchema = z
  .object({ checks: z.array(maintenanceCheckSchema) })
  .meta({ id: 'MaintenanceCheckList', description: 'Checks that were started, each kind once' });

export type MaintenanceCheckList = z.infer<typeof maintenanceCheckListSchema>;

export const maintenanceCheckRequestSchema = z
  .strictObject({
    kind: kindField,
    scope: scopeField.default('workspace'),
    fix: z.boolean().default(false).describe('For `doctor`, repairs what it can, as `recount doctor --fix` does'),
  })
  .refine(({ kind, scope }) => kind === 'doctor' || scope === 'workspace', {
    path: ['scope'],
    message: 'Figures are verified one workspace at a time',
  })
  .refine(({ kind, fix }) => kind === 'doctor' || !fix, {
    path: ['fix'],
    message: 'Only a doctor repairs: `recount verify --rebuild` rebuilds figures',
  })
  .meta({ id: 'MaintenanceCheckRequest', description: 'A check to be started' });

export type MaintenanceCheckRequest = z.input<typeof maintenanceCheckRequestSchema>;

const MAX_WORKSPACE_NAME_LENGTH = 100;

const workspaceNameField = text(MAX_WORKSPACE_NAME_LENGTH)
  .trim()
  .min(1)
  .regex(/^[^\p{C}]+$/u, 'Control characters are not allowed')
  .describe('Unique in the installation');

export const workspaceNameSchema = z
  .strictObject({ name: workspaceNameField })
  .meta({ id: 'WorkspaceName', description: 'The name of a workspace' });

export const workspaceParamsSchema = z.object({
  workspace_id: text(MAX_WORKSPACE_NAME_LENGTH).describe('Id of the workspace, a ULID'),
});

export const workspaceSchema = z
  .object({
    id: z.string().describe('ULID'),
    name: z.string(),
    created_at: timestampField,
    api_key_count: countField.describe('Keys that are neither revoked nor expired'),
  })
  .meta({ id: 'Workspace', description: 'A workspace, without its contents' });

export const workspaceListSchema = z
  .object({ workspaces: z.array(workspaceSchema) })
  .meta({ id: 'WorkspaceList', description: 'All workspaces of the installation, by name' });

export type WorkspaceList = z.infer<typeof workspaceListSchema>;
