import type {
  McpOffers,
  McpPrompt,
  McpResource,
  McpResourceTemplate,
} from "../../../src/mcp/server/mcp-offers.ts";
import type { McpServer } from "../../../src/mcp/server/mcp-server.ts";
import { PNG } from "./fixture-tools.ts";

/** The resources and prompts that the conformance suite reads. */
export function fixtureOffers(serverOf: () => McpServer): McpOffers & { readonly prompts: McpPrompt[] } {
  return { resources: RESOURCES, resourceTemplates: TEMPLATES, prompts: prompts(serverOf) };
}

const RESOURCES: readonly McpResource[] = [
  {
    uri: "test://static-text",
    name: "Static text",
    description: "A static text.",
    mimeType: "text/plain",
    read: () => {
      const text = "This is the content of the static text resource.";
      return { contents: [{ uri: "test://static-text", mimeType: "text/plain", text }] };
    },
  },
  {
    uri: "test://static-binary",
    name: "Static binary",
    description: "A static image.",
    mimeType: "image/png",
    read: () => ({ contents: [{ uri: "test://static-binary", mimeType: "image/png", blob: PNG }] }),
  },
  {
    uri: "test://watched-resource",
    name: "Watched",
    description: "A resource to subscribe to.",
    mimeType: "text/plain",
    read: () => ({ contents: [{ uri: "test://watched-resource", mimeType: "text/plain", text: "watched" }] }),
  },
];

const TEMPLATES: readonly McpResourceTemplate[] = [
  {
    uriTemplate: "test://template/{id}/data",
    name: "Template",
    description: "Data by its id.",
    mimeType: "application/json",
    read: (uri, { id }) => {
      const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
      return { contents: [{ uri, mimeType: "application/json", text }] };
    },
  },
];

function message(content: Readonly<Record<string, unknown>>) {
  return { role: "user", content: content as never } as const;
}

function prompts(serverOf: () => McpServer): McpPrompt[] {
  return [
    {
      name: "test_simple_prompt",
      description: "A simple prompt.",
      get: () => ({ messages: [message({ type: "text", text: "This is a simple prompt for testing." })] }),
    },
    {
      name: "test_prompt_with_arguments",
      description: "A prompt with arguments.",
      arguments: [
        { name: "arg1", description: "First test argument", required: true, complete: () => ["test one"] },
        { name: "arg2", description: "Second test argument", required: true },
      ],
      get: ({ arg1, arg2 }) => {
        const text = `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`;
        return { messages: [message({ type: "text", text })] };
      },
    },
    {
      name: "test_prompt_with_embedded_resource",
      description: "A prompt with an embedded resource.",
      arguments: [{ name: "resourceUri", description: "URI of the resource to embed", required: true }],
      get: ({ resourceUri: uri }) => {
        const text = "Embedded resource content for testing.";
        return {
          messages: [
            message({ type: "resource", resource: { uri, mimeType: "text/plain", text } }),
            message({ type: "text", text: "Please process the embedded resource above." }),
          ],
        };
      },
    },
    {
      name: "test_prompt_with_image",
      description: "A prompt with an image.",
      get: () => ({
        messages: [
          message({ type: "image", data: PNG, mimeType: "image/png" }),
          message({ type: "text", text: "Please analyze the image above." }),
        ],
      }),
    },
    {
      name: "test_input_required_result_prompt",
      description: "A prompt that asks the user.",
      get: async (_args, context) => {
        const properties = { context: { type: "string" } };
        const answer = await serverOf()
          .clientOf(context)
          ?.ask({
            user_context: {
              method: "elicitation/create",
              params: {
                message: "What context should the prompt use?",
                requestedSchema: { type: "object", properties, required: ["context"] },
              },
            },
          });
        return { messages: [message({ type: "text", text: JSON.stringify(answer) })] };
      },
    },
  ];
}
