/**
 * Tools as servers for agents have them, and what people would ask for. A line has the name, the description and the
 * parameters of a tool.
 */
const TOOLS = `
create_issue|Create a new issue in a GitHub repository|owner repo title body labels assignees
get_issue|Get details of a specific issue in a GitHub repository|owner repo issue_number
list_issues|List issues in a GitHub repository with filtering options|owner repo state labels sort since
update_issue|Update an existing issue in a GitHub repository|owner repo issue_number title body state
add_issue_comment|Add a comment to an existing issue|owner repo issue_number body
search_issues|Search for issues and pull requests across GitHub repositories|query sort order page
create_pull_request|Create a new pull request in a GitHub repository|owner repo title head base draft
get_pull_request|Get details of a specific pull request|owner repo pull_number
list_pull_requests|List and filter repository pull requests|owner repo state head base
merge_pull_request|Merge a pull request|owner repo pull_number merge_method commit_title
get_pull_request_files|Get the list of files changed in a pull request|owner repo pull_number
get_pull_request_status|Get the combined status of all status checks for a pull request|owner repo pull_number
create_pull_request_review|Create a review on a pull request|owner repo pull_number body event comments
request_reviewers|Ask people to review a pull request|owner repo pull_number reviewers
create_repository|Create a new GitHub repository in your account|name description private autoInit
fork_repository|Fork a GitHub repository to your account or specified organization|owner repo organization
search_repositories|Search for GitHub repositories|query page perPage
get_file_contents|Get the contents of a file or directory from a GitHub repository|owner repo path branch
create_or_update_file|Create or update a single file in a GitHub repository|owner repo path content message branch sha
push_files|Push multiple files to a GitHub repository in a single commit|owner repo branch files message
create_branch|Create a new branch in a GitHub repository|owner repo branch from_branch
list_branches|List branches in a repository|owner repo
list_commits|Get list of commits of a branch in a GitHub repository|owner repo sha page
get_commit|Get details for a commit, with its diff|owner repo sha
search_code|Search for code across GitHub repositories|query language page
search_users|Search for users on GitHub|query sort
star_repository|Star a repository|owner repo
list_releases|List the releases of a repository|owner repo
create_release|Publish a release with notes|owner repo tag_name name body prerelease
list_workflow_runs|List runs of a GitHub Actions workflow|owner repo workflow_id status
rerun_workflow|Run a failed GitHub Actions workflow again|owner repo run_id
get_job_logs|Download the logs of a workflow job|owner repo job_id tail_lines
list_code_scanning_alerts|List code scanning alerts of a repository|owner repo severity state
list_secret_scanning_alerts|List leaked credentials that secret scanning found|owner repo state
get_dependabot_alert|Get a Dependabot alert about a vulnerable dependency|owner repo alert_number
list_notifications|List notifications of the authenticated user|filter since
mark_notification_done|Mark a notification as done|thread_id
slack_post_message|Post a new message to a Slack channel|channel_id text
slack_reply_to_thread|Reply to a message thread in Slack|channel_id thread_ts text
slack_add_reaction|Add an emoji reaction to a message|channel_id timestamp reaction
slack_list_channels|List public channels in the workspace|limit cursor
slack_get_channel_history|Get recent messages from a channel|channel_id limit
slack_get_user_profile|Get the profile of a Slack user|user_id
slack_set_status|Set your status and emoji in Slack|status_text status_emoji expiration
send_email|Send an email message|to cc bcc subject body attachments
draft_email|Save a draft of an email without sending it|to subject body
search_emails|Search messages in the mailbox|query from after has_attachment
read_email|Read a message of the mailbox with its attachments|message_id
reply_to_email|Reply to an email in its thread|message_id body reply_all
delete_email|Move a message to the trash|message_id
create_mail_filter|Create a rule that labels or archives incoming mail|criteria action
list_calendar_events|List events of a calendar in a range of time|calendar_id time_min time_max
create_calendar_event|Create an event in a calendar and invite attendees|title start end attendees location
update_calendar_event|Update the time, place or attendees of an event|event_id start end
delete_calendar_event|Delete an event from a calendar|event_id notify
find_free_slots|Find times at which all attendees are free|attendees duration within
respond_to_invitation|Accept or decline an invitation|event_id response comment
read_file|Read the complete contents of a file from the file system|path head tail
write_file|Write a text file, overwriting what is there|path content
edit_file|Replace exact text in a file and return a diff|path edits dryRun
create_directory|Create a new directory or ensure that it exists|path
list_directory|Get a listing of all files and directories in a path|path
directory_tree|Get a recursive tree of files and directories as JSON|path excludePatterns
move_file|Move or rename files and directories|source destination
delete_file|Delete a file permanently|path
search_files|Recursively search for files and directories matching a pattern|path pattern
get_file_info|Retrieve size, permissions and times of a file|path
grep|Search the contents of files with a regular expression|pattern path include
compress_files|Pack files into a zip archive|paths archive
run_command|Run a shell command and return its output|command cwd timeout
kill_process|Terminate a running process|pid signal
system_monitor|Show load, memory and disk usage of this machine|
query_database|Run a read-only SQL query|sql parameters
list_tables|List all tables of the database|schema
describe_table|Get the columns and types of a table|table
insert_rows|Insert rows into a table|table rows
backup_database|Write a dump of the database to storage|database destination
explain_query|Show the plan by which the database executes a query|sql
list_instances|List virtual machines in a cloud project|project zone
start_instance|Start a stopped virtual machine|instance zone
stop_instance|Stop a running virtual machine|instance zone
resize_instance|Change the machine type of a virtual machine|instance machine_type
create_bucket|Create a bucket for objects|name region
upload_object|Upload an object to a bucket|bucket key body
list_objects|List the objects in a bucket|bucket prefix
get_bill|Get the costs of a cloud account by service|account month
deploy_service|Deploy a container image as a service|service image replicas env
rollback_deployment|Return a service to an earlier revision|service revision
get_service_logs|Read the log lines of a service|service since level
scale_service|Set the number of replicas of a service|service replicas
create_alert|Create an alert on a metric|metric threshold channel
query_metrics|Query time series of metrics|expression start end step
get_weather_forecast|Get the weather forecast for a place|latitude longitude days
get_current_weather|Get the current temperature, wind and rain at a place|city units
geocode_address|Convert an address to coordinates|address
get_directions|Get directions between two places|origin destination mode
search_places|Search for restaurants, shops and other places nearby|query location radius
search_flights|Search flights between airports|from to date passengers cabin
book_flight|Book a flight offer for travellers|offer_id travellers payment
cancel_booking|Cancel a booking and ask for a refund|booking_id reason
search_hotels|Search hotels with free rooms|city check_in check_out guests
rent_car|Reserve a rental car|location pick_up drop_off category
convert_currency|Convert an amount between currencies|amount from to
get_stock_price|Get the latest price of a stock|symbol
place_order|Buy or sell shares|symbol side quantity type
get_account_balance|Get the balance of a bank account|account_id
transfer_money|Transfer money to another account|from_account to_account amount reference
list_transactions|List the transactions of an account|account_id from to category
create_invoice|Create an invoice for a customer|customer items due_date
refund_payment|Refund a payment in full or in part|payment_id amount
create_customer|Create a customer record in the CRM|name email company phone
search_contacts|Search contacts in the CRM|query owner tag
update_deal_stage|Move a deal to another stage of the pipeline|deal_id stage
log_call|Record a phone call with a contact|contact_id notes duration
create_page|Create a page in a wiki or notebook|parent title markdown
search_pages|Search pages and databases of the workspace|query filter
append_blocks|Append blocks of content to a page|page_id children
create_task|Create a task in a list|title due list notes priority
complete_task|Mark a task as completed|task_id
list_tasks|List open tasks|list due_before
assign_task|Assign a task to a member of the team|task_id assignee
generate_image|Generate an image from a description|prompt size style
transcribe_audio|Transcribe speech in an audio file to text|file language
translate_text|Translate a text to another language|text target source
summarize_document|Summarize a long document|document length
extract_text_from_pdf|Extract the text of a PDF file|file pages
resize_image|Change the size or format of an image|file width height format
browser_navigate|Open a URL in the browser|url
browser_click|Click an element of the page|element ref
browser_type|Type text into a field of the page|element text submit
browser_take_screenshot|Take a screenshot of the page|fullPage element
web_search|Search the web and return results with snippets|query count
fetch_url|Fetch a URL and return its content as markdown|url max_length
play_music|Play a song, album or playlist|query device
set_thermostat|Set the temperature of a room|room celsius
turn_on_lights|Switch lights on, with brightness and colour|room brightness color
lock_door|Lock or unlock a door|door action
set_timer|Set a timer or alarm|duration label
add_to_shopping_list|Add items to the shopping list|items
track_package|Track the delivery of a parcel|tracking_number carrier
memory_store|Remember a fact for later conversations|key text
memory_search|Recall facts that were remembered|query
`;

/** What a person asks for, and the tools of which one has to be among the first three. */
const QUERIES = `
file a bug report on github|create_issue
what does ticket 42 say|get_issue
close an issue|update_issue
leave a comment on an issue|add_issue_comment
open a PR|create_pull_request
merge my pull request|merge_pull_request
which files did this PR change|get_pull_request_files
did the checks of the pull request pass|get_pull_request_status
ask somebody for a code review|request_reviewers create_pull_request_review
make a new repo|create_repository
fork a project on github|fork_repository
read the readme of a repository|get_file_contents
commit several files at once|push_files
make a branch|create_branch
recent commits on main|list_commits
find where a function is used in code on github|search_code
publish a new version with release notes|create_release
restart the failed CI workflow|rerun_workflow
logs of the build job|get_job_logs
were any passwords or credentials leaked|list_secret_scanning_alerts
vulnerable dependencies|get_dependabot_alert
post in a slack channel|slack_post_message
react with an emoji|slack_add_reaction
what was said in the channel recently|slack_get_channel_history
set my slack status to away|slack_set_status
write an email to a customer|send_email draft_email
look for mails from my boss|search_emails
answer an email|reply_to_email
schedule a meeting with the team|create_calendar_event
when is everybody free|find_free_slots
decline the invitation|respond_to_invitation
move the meeting to tomorrow|update_calendar_event
what is on my calendar today|list_calendar_events
rename a file|move_file
make a folder|create_directory
how big is this file|get_file_info
show the folder structure as a tree|directory_tree
search text inside files|grep search_files
zip these files|compress_files
execute a shell command|run_command
how much memory is in use|system_monitor
run a SQL query|query_database
which columns does the table have|describe_table
make a database dump|backup_database
why is this query slow|explain_query
shut down the virtual machine|stop_instance
how much did the cloud cost last month|get_bill
go back to the previous version of the service|rollback_deployment
more replicas for a service|scale_service
will it rain tomorrow|get_weather_forecast get_current_weather
how do I get from the station to the hotel|get_directions
restaurants near me|search_places
cheap flights to Lisbon|search_flights
cancel my booking|cancel_booking
reserve a car|rent_car
convert dollars to euros|convert_currency
price of a stock|get_stock_price
send money to another account|transfer_money
give the customer their money back|refund_payment
bill a customer|create_invoice
add a todo item|create_task
finish a task|complete_task
draw a picture of a cat|generate_image
turn a recording into text|transcribe_audio
translate this to French|translate_text
get the text out of a pdf|extract_text_from_pdf
take a screenshot of the website|browser_take_screenshot
google something|web_search
download a web page|fetch_url
turn on the lights in the kitchen|turn_on_lights
make the room warmer|set_thermostat
where is my parcel|track_package
remember that I like tea|memory_store
what do you remember about me|memory_search
`;

/**
 * Requests that were written when weights and synonyms were fixed. One of four ways to weigh rare words was chosen with them
 * in view, so that they are not fully unseen.
 */
const UNSEEN_QUERIES = `
show all open pull requests|list_pull_requests
give the repo a star|star_repository
look up a github user|search_users
what changed in this commit|get_commit
approve a pull request|create_pull_request_review
list branches|list_branches
my unread github notifications|list_notifications
mark notification as read|mark_notification_done
security problems found by code scanning|list_code_scanning_alerts
answer in a slack thread|slack_reply_to_thread
which channels are there in slack|slack_list_channels
who is this slack user|slack_get_user_profile
save an email for later without sending|draft_email
throw away this mail|delete_email
automatically label incoming mails|create_mail_filter
invite people to an event|create_calendar_event
remove an appointment|delete_calendar_event
overwrite a file with new text|write_file
replace a line in a file|edit_file
list the files in a folder|list_directory
remove a file|delete_file
find files by name|search_files
stop a process that hangs|kill_process
which tables exist in the database|list_tables
add rows to a table|insert_rows
start a vm|start_instance
a bigger machine type for my server|resize_instance
put a file into a bucket|upload_object
what is stored in the bucket|list_objects
deploy a docker image|deploy_service
read the logs of the service|get_service_logs
tell me when the error rate is too high|create_alert
plot a metric over time|query_metrics
how hot is it in Rome now|get_current_weather
coordinates of an address|geocode_address
book the flight|book_flight
find a hotel room in Paris|search_hotels
buy shares|place_order
how much money is in my account|get_account_balance
recent payments from my bank account|list_transactions
add a new client to the crm|create_customer
find a contact|search_contacts
move the deal to won|update_deal_stage
write down a phone call|log_call
create a wiki page|create_page
add text to the end of a page|append_blocks
which tasks are overdue|list_tasks
give this task to Anna|assign_task
make this text shorter|summarize_document
shrink a photo|resize_image
open a website in the browser|browser_navigate
click on a button|browser_click
fill in a form field|browser_type
play some jazz|play_music
lock the front door|lock_door
wake me up in ten minutes|set_timer
put milk on the shopping list|add_to_shopping_list
search for repositories about rust|search_repositories
change the title of an issue|update_issue
run the tests of the project in a shell|run_command
`;

/** A tool of the set, as it is registered. */
export interface SetTool {
  readonly name: string;
  readonly description: string;
  readonly sideEffects: "read" | "write";
  readonly parameters: readonly string[];
}

/** The verbs of tools that change nothing; `place` and `browser` tools, among others, do. */
const READING =
  /(?:^|_)(?:get|list|search|read|find|query|describe|explain|grep|track|fetch|monitor|summarize|extract|tree|translate|transcribe|geocode|convert)(?:_|$)/;

export const SEARCH_TOOLS: readonly SetTool[] = rowsOf(TOOLS).map(
  ([name = "", description = "", parameters = ""]) => ({
    name,
    description,
    sideEffects: READING.test(name) ? "read" : "write",
    parameters: parameters.split(" ").filter((parameter) => parameter !== ""),
  }),
);

/** A request, and the names of the tools of which one is right. */
export interface SetQuery {
  readonly query: string;
  readonly wanted: readonly string[];
}

export const SEARCH_QUERIES: readonly SetQuery[] = readQueries(QUERIES);
export const UNSEEN_SEARCH_QUERIES: readonly SetQuery[] = readQueries(UNSEEN_QUERIES);

/** Reads lines with a request, and the names of the tools of which one is right. */
export function readQueries(text: string): readonly SetQuery[] {
  return rowsOf(text).map(([query = "", wanted = ""]) => ({ query, wanted: wanted.split(" ") }));
}

function rowsOf(text: string): readonly (readonly string[])[] {
  return text
    .trim()
    .split("\n")
    .map((line) => line.split("|"));
}
