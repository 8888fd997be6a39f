import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import { COST_DECIMALS, type ExportColumn, type ExportColumnType } from './export-columns.ts';
import type { ExportEncoder, ExportValue } from './export-encoders.ts';

/** Rows in a row group, which writer and reader hold in memory as a whole. */
const ROW_GROUP_ROWS = 10_000;
/** Characters of texts and JSON in a row group, which ends earlier if they are very long. */
const ROW_GROUP_LENGTH = 32 * 1024 * 1024;

const TYPES: Readonly<Record<ExportColumnType, Omit<SchemaElement, 'name'>>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  json: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  count: { type: 'INT64' },
  // 64 bits hold 18 digits, enough for costs of up to 99 million dollars.
  cost: { type: 'INT64', converted_type: 'DECIMAL', precision: 18, scale: COST_DECIMALS },
  time: { type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' },
  flag: { type: 'BOOLEAN' },
};

/**
 * Parquet with `rowGroupRows` rows in each row group, fewer if their texts have more than `rowGroupLength` characters.
 * Counts are INT64, costs DECIMAL(18, 10), times TIMESTAMP_MILLIS in UTC, JSON is text; every column is optional.
 */
export function createParquetEncoder(
  columns: readonly ExportColumn[],
  {
    rowGroupRows = ROW_GROUP_ROWS,
    rowGroupLength = ROW_GROUP_LENGTH,
  }: { rowGroupRows?: number; rowGroupLength?: number } = {},
): ExportEncoder {
  const bytes = new ByteWriter();
  const schema: SchemaElement[] = [
    { name: 'root', num_children: columns.length },
    ...columns.map(({ name, type }): SchemaElement => ({ name, repetition_type: 'OPTIONAL', ...TYPES[type] })),
  ];
  const writer = new ParquetWriter({ writer: bytes, schema, createdBy: 'recount' });
  let group: unknown[][] = [];
  let groupLength = 0;

  const writeGroup = (): void => {
    if (group.length === 0) return;
    const columnData = columns.map(({ name }, index) => ({ name, data: group.map((row) => row[index]) }));
    group = [];
    groupLength = 0;
    void writer.write({ columnData, rowGroupSize: rowGroupRows });
  };

  /** Returns what was written since the last call. Offsets continue. */
  const take = (): Uint8Array => {
    const taken = bytes.getBytes().slice();
    bytes.index = 0;
    return taken;
  };

  return {
    start: take,
    encode(rows) {
      for (const row of rows) {
        const stored = columns.map(({ type }, index) => toStoredValue(row[index], type));
        group.push(stored);
        for (const value of stored) groupLength += typeof value === 'string' ? value.length : 0;
        if (group.length === rowGroupRows || groupLength >= rowGroupLength) writeGroup();
      }
      return take();
    },
    end() {
      writeGroup();
      void writer.finish();
      return take();
    },
  };
}

/** The maximum of DECIMAL(18, 10). */
const MAX_UNITS = 10n ** 18n - 1n;

function toStoredValue(value: ExportValue, type: ExportColumnType): unknown {
  if (value === null || value === undefined) return null;
  switch (type) {
    case 'count':
      return BigInt(value as number);
    case 'cost':
      return toUnits(String(value));
    case 'time':
      return BigInt(Date.parse(String(value)));
    case 'json':
      return JSON.stringify(value);
    default:
      return value;
  }
}

/** A decimal such as `-1.25` as an integer of its last decimals. Throws RangeError if it does not fit the column. */
function toUnits(decimal: string): bigint {
  const [whole = '0', fraction = ''] = decimal.split('.');
  const units = BigInt(whole + fraction.padEnd(COST_DECIMALS, '0'));
  if (units > MAX_UNITS || units < -MAX_UNITS) {
    throw new RangeError('A cost of 100 million or more does not fit into Parquet. Export to CSV or NDJSON instead');
  }
  return units;
}
