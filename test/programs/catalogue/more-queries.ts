import { readQueries, type SetQuery } from "./search-set.ts";

/** Requests by which the forms of words, the synonyms and the weights were tuned, after those of `search-set.ts`. */
const TUNED = `
show me the description of issue 118|get_issue
what open bugs does the repo have sorted by date|list_issues
is there already a ticket about the login crash|search_issues
which PRs are still waiting|list_pull_requests
details of PR 77|get_pull_request
approve the pull request with a comment|create_pull_request_review
find open source projects for parsing CSV|search_repositories
change one file in the repo and commit it|create_or_update_file
what branches exist|list_branches
show the diff of commit abc123|get_commit
look up a developer on github|search_users
bookmark this project with a star|star_repository
what versions have been released|list_releases
status of recent CI runs|list_workflow_runs
security problems found by static analysis|list_code_scanning_alerts
anything new for me on github|list_notifications
dismiss a notification|mark_notification_done
answer in the slack thread|slack_reply_to_thread
what slack channels are there|slack_list_channels
who is this slack user|slack_get_user_profile
prepare a mail but do not send it|draft_email
open the latest email from Anna|read_email
throw away that message in my inbox|delete_email
automatically archive newsletters|create_mail_filter
push our call back by one hour|update_calendar_event
cancel tomorrow's meeting|delete_calendar_event
say yes to the invite|respond_to_invitation
show me what is in config.json|read_file
save this text as notes.txt|write_file
replace a word in a file|edit_file
what files are in this folder|list_directory
remove the old log file|delete_file
find all files that end in .ts|search_files
stop the process with pid 4321|kill_process
which tables are in the database|list_tables
add records to the customers table|insert_rows
show my running servers in the cloud|list_instances
boot the vm|start_instance
give the virtual machine more cpu|resize_instance
make storage for objects|create_bucket
put a file into cloud storage|upload_object
what is stored in the bucket|list_objects
roll out the new container image|deploy_service
show errors from the service in the last hour|get_service_logs
warn me if cpu goes above 90 percent|create_alert
graph of request latency over time|query_metrics
is it raining in Paris right now|get_current_weather
latitude and longitude of this street|geocode_address
a place to stay in Rome for two nights|search_hotels
get a car at the airport|rent_car
how many yen are 200 dollars|convert_currency
what is Apple trading at|get_stock_price
how much money do I have in my account|get_account_balance
send 50 euros to my landlord|transfer_money
add a new client to the crm|create_customer
find our onboarding notes in the wiki|search_pages
add a paragraph to the page|append_blocks
tick off the laundry|complete_task
make this picture smaller|resize_image
press the submit button|browser_click
`;

/** Requests that were written before that tuning, and whose misses nobody looked at. */
const HELD_OUT = `
reopen issue 12 and give it another title|update_issue
reply to the bug with my findings|add_issue_comment
propose my branch for merging|create_pull_request
what did pull request 31 touch|get_pull_request_files
start a fresh github project|create_repository
history of the main branch|list_commits
who calls parseConfig in our repos|search_code
why did the build step fail|get_job_logs list_workflow_runs
is one of our packages insecure|get_dependabot_alert
tell the team on slack that lunch is ready|slack_post_message
mark me as on vacation in slack|slack_set_status
mail the report to my manager|send_email
find the message with the invoice attached|search_emails
write back to Tom's email|reply_to_email
set up a call with Maria on Friday|create_calendar_event
find a time that suits all of us|find_free_slots
new folder for the photos|create_directory
put report.pdf into the archive directory|move_file
when was this file last modified|get_file_info
run npm install|run_command
is the disk nearly full|system_monitor
count the users who signed up in May|query_database
what fields does the orders table contain|describe_table
turn off the dev server in the cloud|stop_instance
what are we paying for storage this month|get_bill
run five copies of the api|scale_service
do I need an umbrella this weekend|get_weather_forecast
how do I get to the station by bike|get_directions
cheap planes to Lisbon next week|search_flights
I can't travel, get my money back|cancel_booking
what did I spend on groceries|list_transactions
charge the client for ten hours of work|create_invoice
give the customer his money back|refund_payment
phone number of someone at Acme|search_contacts
put milk delivery on my todo list|create_task add_to_shopping_list
hand this task over to Ben|assign_task
give me the gist of this long report|summarize_document
how do you say this in German|translate_text
capture what the page looks like|browser_take_screenshot
where is my delivery|track_package
`;

export const MORE_SEARCH_QUERIES: readonly SetQuery[] = readQueries(TUNED);
export const HELD_OUT_SEARCH_QUERIES: readonly SetQuery[] = readQueries(HELD_OUT);
