// An ElectroDB program for the tests: one JSON request a line on its input, one JSON answer a line on its output.
// A request names the endpoint and the table, so that one process serves all tests.
// NODE_PATH says where electrodb and @aws-sdk/client-dynamodb are installed.
"use strict";

const { createInterface } = require("node:readline");
const { DynamoDBClient } = require("@aws-sdk/client-dynamodb");
const { Entity } = require("electrodb");

const clients = new Map();

function clientOf(endpoint) {
  if (!clients.has(endpoint)) {
    const credentials = { accessKeyId: "local", secretAccessKey: "local" };
    clients.set(endpoint, new DynamoDBClient({ endpoint, region: "us-east-1", credentials, maxAttempts: 1 }));
  }
  return clients.get(endpoint);
}

const taskOf = (client, table) => new Entity(
  {
    model: { entity: "Task", version: "1", service: "Office" },
    attributes: {
      team: { type: "string", required: true },
      taskId: { type: "string", required: true },
      done: { type: "boolean", required: true, default: false },
      points: { type: "number" },
      order: { type: "number", default: 0, padding: { length: 4, char: "0" } },
      tags: { type: "set", items: "string" },
      lines: {
        type: "list",
        items: { type: "map", properties: { what: { type: "string" }, price: { type: "number" } } },
      },
      note: { type: "string" },
    },
    indexes: {
      primary: { pk: { field: "pk", composite: ["team"] }, sk: { field: "sk", composite: ["taskId"] } },
      byState: {
        index: "gsi1",
        pk: { field: "gsi1pk", composite: ["done"] },
        sk: { field: "gsi1sk", composite: ["order", "taskId"] },
      },
    },
  },
  { client, table },
);

const steps = {
  put: (task, item) => task.put(item).go(),
  create: (task, item) => task.create(item).go(),
  get: (task, key) => task.get(key).go({ consistent: true }),
  list: (task, key) => task.query.primary(key).go(),
  byState: (task, key) => task.query.byState(key).go(),
  scan: (task) => task.scan.go(),
  patch: (task, { key, set }) => task.patch(key).set(set).go({ response: "all_new" }),
  delete: (task, key) => task.delete(key).go(),
};

// a set is an array in JSON
const plain = (_, value) => (value instanceof Set ? [...value].sort() : value);

async function answer(line) {
  const [endpoint, table, step, argument] = JSON.parse(line);
  try {
    return { data: (await steps[step](taskOf(clientOf(endpoint), table), argument)).data };
  } catch (error) {
    return { error: String(error.message) };
  }
}

(async () => {
  for await (const line of createInterface({ input: process.stdin })) {
    process.stdout.write(`${JSON.stringify(await answer(line), plain)}\n`);
  }
  clients.forEach((client) => client.destroy());
})();
